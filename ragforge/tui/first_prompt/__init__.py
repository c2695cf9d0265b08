"""The prompt that echoes keys while the interface is loaded. Needs only the standard library."""
