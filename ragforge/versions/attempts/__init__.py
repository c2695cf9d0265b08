"""Work tried in copies of the project: alternatives, merges made by models, checks."""
