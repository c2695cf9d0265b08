"""What a first request loads besides the client itself."""


def load_connections() -> None:
    """Load what opens connections for an httpx2 client. Slow: call it in a thread."""
    import anyio  # httpx2 brings it, and would load the larger part of it at the first request: 60 ms
    from anyio.lowlevel import checkpoint

    anyio.run(checkpoint)
