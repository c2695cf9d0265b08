"""The version tree over an open session: recording turns, and what a person can do with versions."""
