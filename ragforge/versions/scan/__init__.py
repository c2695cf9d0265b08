"""The contents of a project's folder, and the changes since the last scan."""
