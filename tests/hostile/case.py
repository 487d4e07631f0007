"""One hostile folder, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from hostile.trial import Trial

Kind = Literal["accepted", "warned", "unfit", "rejected"]
Writer = Callable[[Path], None]
Check = Callable[["Trial"], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What `write` puts into the case's own folder, and the outcome.

    accepted: neither error nor warning; warned: warnings only, one of `codes` among them; unfit: an error of `validate`,
    one of `codes` reported, and indexed all the same; rejected: an error, one of `codes` reported, and nothing of the
    case indexed. `indexed` are ids that must be there (empty: anything of the
    case's own, unless it is rejected), `absent` are words in no id and no path that is indexed. Never said: `unsaid` in
    any output, `untold` in a diagnostic, `unrendered` in a prompt. `seconds` of processor time and `mebibytes` are
    counted beyond what the smallest case takes.
    """

    name: str
    kind: Kind
    codes: tuple[str, ...] = ()
    write: Writer
    neighbour: Literal["tool", "skill"] = "tool"
    roots: tuple[str, ...] = (".",)
    indexed: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    unrendered: tuple[str, ...] = ()
    seconds: float = 4.0
    mebibytes: int = 200
    checks: tuple[Check, ...] = ()
    needs: Literal["", "user"] = ""


def accepted(name: str, write: Writer, **more: Any) -> Case:
    """A case that must raise no alarm."""
    return Case(name=name, kind="accepted", write=write, **more)


def warned(name: str, codes: str, write: Writer, **more: Any) -> Case:
    """A case that is indexed with a warning of one of these codes, blanks between them."""
    return Case(name=name, kind="warned", codes=tuple(codes.split()), write=write, **more)


def unfit(name: str, codes: str, write: Writer, **more: Any) -> Case:
    """A case that `validate` refuses with one of these codes, and a build takes in with a warning."""
    return Case(name=name, kind="unfit", codes=tuple(codes.split()), write=write, **more)


def rejected(name: str, codes: str, write: Writer, **more: Any) -> Case:
    """A case that is left out with an error of one of these codes, blanks between them."""
    return Case(name=name, kind="rejected", codes=tuple(codes.split()), write=write, **more)
