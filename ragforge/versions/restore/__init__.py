"""Restoring files: planned, journaled, staged, executed; finished or rolled back after a crash."""
