"""The terminal interface: it draws events and asks questions, without logic of its own."""
