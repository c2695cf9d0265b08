"""The parts of `stores.py`, one per question."""
