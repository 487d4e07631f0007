"""One hostile folder, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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


def _case(kind: Kind, name: str, codes: str, write: Writer, **more: Any) -> Case:
    return Case(name=name, kind=kind, codes=tuple(codes.split()), write=write, **more)


def accepted(name: str, write: Writer, **more: Any) -> Case:
    """A case that must raise no alarm."""
    return _case("accepted", name, "", write, **more)


# Cases that are indexed with a warning, that `validate` refuses and a build indexes with a warning, and that are left
# out with an error; each with one of these codes, blanks between them.
warned, unfit, rejected = (partial(_case, kind) for kind in ("warned", "unfit", "rejected"))
