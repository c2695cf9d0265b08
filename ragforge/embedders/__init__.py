"""What turns text into vectors: a static model that ships with the program, or a service that was chosen."""
