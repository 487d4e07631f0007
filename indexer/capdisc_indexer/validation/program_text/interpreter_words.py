"""How one program reads its words: what its options take, and what the words are that belong to
none.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from capdisc_indexer.model.frozen import field, frozen

DASHES = "-\u2013\u2014\u2015"  # PowerShell takes each of them for a dash


class Role(Enum):
    """What an option does with what follows it."""

    TEXT = "program text"
    VALUE = "one value"
    TWO = "two values"
    FILE = "a file that holds the program"
    REST_OF_WORD = "a value in the same word, if any"
    TURN = "makes the first operand program text"
    REST = "every later word is program text"
    RUN = "the next word is a program"
    MODULE = "a module that is run"
    SETTING = "name=value, where some names start programs"


class Operands(Enum):
    """What the words are that belong to no option."""

    SCRIPT = "a file that holds the program, then its arguments"
    TEXT = "the program, then files"
    AFTER_FIRST = "a place, then program text"
    ALL = "program text"
    COMMAND = "a program and its words"
    NONE = "no program"


@frozen(kw_only=True)
class Interpreter:
    """How one program reads its words. `skip` counts operands before a wrapper's command; `hint`
    says how an argument reaches its program text safely.
    """

    roles: Mapping[str, Role]
    operands: Operands = Operands.SCRIPT
    skip: int = 0
    subcommands: Mapping[str, Interpreter] = field(default_factory=dict)
    permutes: bool = False
    has_plus_options: bool = False
    has_slash_options: bool = False
    has_prefix_options: bool = False
    is_shell: bool = False
    is_strong: bool = False
    reads_stdin: bool = False
    takes_closed: bool = False
    takes_assignments: bool = False
    has_own_program: bool = False  # so that what stands in its place may be words for that
    hint: str = ""

    @property
    def looks_on(self) -> bool:
        """Whether it looks for options behind its first operand, too."""
        return self.permutes or self.operands is Operands.COMMAND


def option_role(spec: Interpreter, name: str) -> Role | None:
    """The role of an option by its name; long ones may be cut short, as getopt and PowerShell
    allow.
    """
    if spec.has_prefix_options:
        cut = f"-{name.lstrip(DASHES + '/').casefold()}"
        if cut in spec.roles or cut == "-":
            return spec.roles.get(cut)
        matching = [role for option, role in spec.roles.items() if option.startswith(cut)]
        return Role.REST if Role.REST in matching else next(iter(matching), None)
    if spec.has_slash_options:
        return spec.roles.get(name.casefold())
    if name in spec.roles or not name.startswith("--") or len(name) < 4:
        return spec.roles.get(name)
    matching = [role for option, role in spec.roles.items() if option.startswith(name)]
    return Role.TEXT if Role.TEXT in matching else next(iter(matching), None)
