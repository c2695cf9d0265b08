"""The command `ragforge`, also as `python -m ragforge`."""

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.platform == "win32":
        sys.exit("ragforge runs on Linux and macOS; on Windows use it within WSL.")
    from ragforge.cli.main import run  # after the check: what it imports exists on those systems only

    run()


if __name__ == "__main__":
    main()
