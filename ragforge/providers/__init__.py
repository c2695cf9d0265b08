"""Models behind one stream of events, one file per provider, chosen by `provider:model`."""
