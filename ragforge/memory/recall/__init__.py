"""What matters for a message or a question, found by words and by meaning and ranked in one place."""
