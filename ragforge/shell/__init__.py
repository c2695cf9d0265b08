"""Shell commands: parsing them, recognising those that only read, and running them."""
