"""Memory: summaries, memories and recall over everything that was stored."""
