"""Slash commands: a file a command, each with a `COMMAND` that returns what the front end shall do."""
