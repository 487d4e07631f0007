"""The entry point. Imports nothing heavy before it knows what is asked."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        if sys.argv[1:] == ["--version"]:
            sys.exit(_version())
        from capdisc.app import run
    except KeyboardInterrupt:  # so early that nothing else can answer
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


def _version() -> int:
    from capdisc_indexer import __version__

    try:
        print(f"capdisc {__version__}", flush=True)
    except OSError as error:
        sys.stderr.write(f"error: {error.strerror}\n")
        return 4
    return 0


if __name__ == "__main__":
    main()
