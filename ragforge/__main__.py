"""The command `ragforge`, also as `python -m ragforge`."""

import gc
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.platform == "win32":
        sys.exit("ragforge runs on Linux and macOS; on Windows use it within WSL.")
    # Loading makes many objects and no garbage: collecting as often as usual costs a tenth of a short run.
    gc.set_threshold(20_000, 20, 20)
    from ragforge.cli.edge import to_exit_code  # after the check: what follows exists on those systems only

    sys.exit(to_exit_code(_run))


def _run() -> int:
    if len(sys.argv) == 1 and sys.stdin.isatty():
        # The usual start has no flags to parse; loading the parser would cost a tenth of it.
        from ragforge.cli.interactive import run_interface
        from ragforge.cli.options import Options, current_folder

        return run_interface(Options(cwd=current_folder()))
    from ragforge.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    main()
