"""Slash commands, one file each with a `COMMAND` that returns what the front end should do."""
