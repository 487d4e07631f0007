"""What a command takes, said beside its parameters without a library.

`quick` reads a plain command line by it, in a millisecond; `typed` makes typer's options of it, for help and for
everything that is out of the ordinary. Importing typer costs half of what a whole cold query may.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from capdisc_indexer.frozen import frozen


class BadValueError(ValueError):
    """A value that its option does not take; the text says why."""


@frozen
class Declared:
    """One option, or with `names` None one positional argument. `parser` makes the value of the word, `callback` may
    change or refuse a value; both raise BadValueError. No option takes less than `least` or more than `most`."""

    names: tuple[str, ...] | None
    help: str = ""
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    parser: Callable[[str], Any] | None = None
    callback: Callable[[Any], Any] | None = None


def option(
    *names: str,
    help: str = "",
    metavar: str | None = None,
    min: float | None = None,
    max: float | None = None,
    parser: Callable[[str], Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
) -> Declared:
    """An option; without names, the one that its parameter's name makes."""
    return Declared(names, help, metavar, min, max, parser, callback)


def argument(help: str = "", metavar: str | None = None) -> Declared:
    """A positional argument."""
    return Declared(None, help, metavar)
