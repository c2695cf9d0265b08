"""Languages: every module with a `LANGUAGE`. To add a language, add a file here."""
