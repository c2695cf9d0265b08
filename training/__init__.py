"""What the classifier of clauses is made from, and how."""
