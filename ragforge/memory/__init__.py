"""What is remembered: recall over everything that was stored."""
