"""Temporary copies of the project: created, moved to another state, removed, and recovered after a crash."""
