"""Where everything is kept: one contract, one implementation a URL scheme, and what stays on this machine."""
