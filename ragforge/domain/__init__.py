"""Values and pure functions: what every other layer speaks of. Imports nothing of ours."""
