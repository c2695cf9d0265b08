"""The stores: one contract, one implementation per URL scheme, and the state of this machine."""
