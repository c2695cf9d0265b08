"""What is in a project's folder, and what changed in it since the last scan."""
