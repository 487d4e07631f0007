"""The entry point. Imports nothing heavy before it knows what is asked."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    argv = sys.argv[1:]
    if argv == ["--version"]:
        from capdisc_indexer import __version__

        sys.stdout.write(f"capdisc {__version__}\n")
        return
    from capdisc.app import run

    sys.exit(run(argv))


if __name__ == "__main__":
    main()
