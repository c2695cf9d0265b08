"""What this machine remembers."""
