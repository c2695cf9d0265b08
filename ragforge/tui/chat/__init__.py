"""The chat: `frame` is what its parts share, `presenter` names them, `screen` hands them keys and events."""
