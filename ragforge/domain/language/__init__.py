"""What is known of languages: every module with a `LANGUAGE`. Adding a language is adding a file here."""
