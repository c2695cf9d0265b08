"""This machine's own state."""
