"""Models behind one stream of events; a file a provider, chosen by `provider:model`."""
