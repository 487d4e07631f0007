"""How far a command is read, and what is found on the way."""

from __future__ import annotations

from capdisc_indexer.model.frozen import fields, frozen
from capdisc_indexer.validation.program_text.interpreter_words import Interpreter, Role


@frozen(kw_only=True)
class Misuse:
    """An argument where a program runs or obeys what stands there. `kind` is text (program text),
    stdin (a program read from stdin), program (which program is started), option (which options it
    has), variable (a variable that steers what is loaded) or unreadable (too long to be read).
    """

    kind: str
    program: str
    at: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    hint: str = ""
    when_left_out: bool = False


@frozen
class State:
    """How far the words of one program are read."""

    spec: Interpreter
    name: str
    is_embedded: bool = False
    operands: int = 0
    is_turned: bool = False
    is_given: bool = False
    is_over: bool = False
    is_rest: bool = False
    pending: Role | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells two states apart; an interpreter is one value of the table."""
        return id(self.spec), *(getattr(self, name) for name in fields(self) if name != "spec")
