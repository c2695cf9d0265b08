"""Copies of the project for a while: made, brought to another state, removed; found again after a crash."""
