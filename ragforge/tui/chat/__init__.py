"""The chat: `frame` is shared by its parts, `presenter` names them, `screen` passes on keys and events."""
