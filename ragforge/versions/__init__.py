"""The version tree: what changed in a project's files, and how any state of them is restored."""
