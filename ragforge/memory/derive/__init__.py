"""Derivations from turns: every module with a `DERIVATION`. To add a derivation, add a file here."""
