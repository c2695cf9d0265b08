"""The line mode: the conversation as lines of text, for screen readers and terminals without screens."""
