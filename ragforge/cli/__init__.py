"""The command line: flags, plain output, exit codes."""
