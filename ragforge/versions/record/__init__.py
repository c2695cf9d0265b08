"""Recording versions: turns as they run, changes between them, and the folder whose heads move."""
