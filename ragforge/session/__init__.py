"""Sessions, as every front end uses them: opening a session, running a turn, and verbs."""
