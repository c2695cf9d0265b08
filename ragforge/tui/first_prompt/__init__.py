"""The prompt that echoes keys while the interface is loaded. Needs the standard library alone."""
