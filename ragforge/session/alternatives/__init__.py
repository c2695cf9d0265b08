"""One request worked out in several ways at the same time, each in a copy of the project."""
