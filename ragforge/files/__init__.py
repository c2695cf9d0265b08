"""Files on disk: open, write, walk, ignore, compare and lock them."""
