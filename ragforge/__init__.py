"""ragforge: a coding assistant for the terminal that remembers."""

__version__ = "0.1.0"
