"""Files on the disk: opening, writing, walking, ignoring, comparing and locking them."""
