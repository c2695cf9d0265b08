"""Small programs that use the public functions of ragforge."""
