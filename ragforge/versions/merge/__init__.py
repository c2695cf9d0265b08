"""Three-way merges of two versions, file by file and line by line."""
