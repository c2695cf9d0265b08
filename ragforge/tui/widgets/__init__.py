"""The pieces that screens are made of."""
