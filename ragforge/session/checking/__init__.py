"""Whether files are sound, by the project's check command: which one may run, and running it in a copy."""
