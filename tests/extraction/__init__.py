"""How well memories and constraints are found: an annotated set, and what it measures."""
