"""The agent: calls the model, decides what is allowed, runs tools, and repeats until the turn is done."""
