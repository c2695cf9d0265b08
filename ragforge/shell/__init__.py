"""Shell commands: what they say, which only read, and the processes that run them."""
