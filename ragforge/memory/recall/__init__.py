"""Recall: find what matters for a message or a question, by words and by meaning, and rank it in one
place."""
