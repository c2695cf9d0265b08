"""Recording versions: turns as they run, changes between them, and the folder that heads move in."""
