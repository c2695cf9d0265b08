"""Restoring files: planned, journaled, staged, carried out; finished or rolled back after a crash."""
