"""The command `ragforge`, also as `python -m ragforge`."""


def main() -> None:
    """Run the command line and exit with its code."""
