"""The sources of the block: every module with a `SOURCE`. To add a source, add a file here."""
