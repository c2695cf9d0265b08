"""Settings, keys and paths: the only reader of configuration files, environment and keyring."""
