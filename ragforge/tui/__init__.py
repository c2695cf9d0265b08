"""The terminal interface: draws events, asks questions, holds no logic."""
