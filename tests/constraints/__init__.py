"""How well rules that were said in passing are held against calls."""
