"""What every front end shares: opening a session, the order of one turn, commands as values."""
