"""The version tree: what changed in a project's files, and how to restore any state of them."""
