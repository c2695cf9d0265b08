"""What is made of turns: every module with a `DERIVATION`. Adding a derivation is adding a file here."""
