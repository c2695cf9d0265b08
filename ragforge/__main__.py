"""The command `ragforge`, also as `python -m ragforge`."""

import sys
from pathlib import Path


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.platform == "win32":
        sys.exit("ragforge runs on Linux and macOS; on Windows use it within WSL.")
    # After the check: what these import exists on those systems only.
    if len(sys.argv) == 1 and sys.stdin.isatty():
        # The usual start has no flags to parse; loading the parser would cost a tenth of it.
        from ragforge.cli.interactive import run_interface
        from ragforge.cli.options import Options

        sys.exit(run_interface(Options(cwd=Path.cwd())))
    from ragforge.cli.main import run

    run()


if __name__ == "__main__":
    main()
