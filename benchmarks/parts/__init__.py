"""The parts of `stores.py`, one a question."""
