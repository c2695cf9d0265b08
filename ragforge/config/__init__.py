"""Settings, keys and places: the only reader of configuration files, environment and keyring."""
