"""What can be put before a message: every module with a `SOURCE`. Adding a source is adding a file here."""
