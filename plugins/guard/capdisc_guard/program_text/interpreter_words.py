"""How one program reads its words: what its options take, what its other words are, and how far a
command is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from capdisc_indexer.model.frozen import field, fields, frozen
from capdisc_indexer.text.normalization import compile_late

DASHES = "-\u2013\u2014\u2015"  # PowerShell takes each of them for a dash


class Role(Enum):
    """The role of an option: what it takes, or does with the words after it."""

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
    """The meaning of the words that belong to no option."""

    SCRIPT = "a file that holds the program, then its arguments"
    TEXT = "the program, then files"
    AFTER_FIRST = "a place, then program text"
    ALL = "program text"
    COMMAND = "a program and its words"
    NONE = "no program"


@frozen(kw_only=True)
class Interpreter:
    """How one program reads its words.

    `skip` is the number of operands before the command of a wrapper, `is_strong` says that it is
    an interpreter even behind programs that are not known, `takes_closed` that closed values are
    safe as its program text, and `hint` how an argument reaches its program text safely.
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
    has_own_program: bool = False  # what stands in its place may be words for that program
    hint: str = ""

    @property
    def finds_late_options(self) -> bool:
        """Whether it looks for options behind its first operand, too."""
        return self.permutes or self.operands is Operands.COMMAND


def option_role(spec: Interpreter, name: str) -> Role | None:
    """The role of an option, None for one that is not known. Long names may be cut short, as
    getopt and PowerShell allow.
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


@frozen
class State:
    """What is known of one program before its next word.

    `is_embedded`: it stands behind a program that is not known. `operands` counts up to 3.
    `is_turned`: an option made the first operand program text. `is_given`: it has its program.
    `is_over`: no options follow. `is_rest`: all later words are program text. `pending` is the
    role of an option that waits for its value.
    """

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
        """Equal for equal states. By identity for the interpreter, which is one value of a table."""
        return id(self.spec), *(getattr(self, name) for name in fields(self) if name != "spec")


# Settings whose value is a command. In ssh_config(5) ProxyCommand and its kind; in git-config(1)
# aliases, editors, pagers, helpers, filters, drivers, and rewritten addresses, since `ext::` is an
# address that starts a program.
_PROGRAM_SETTING = compile_late(
    r"command|\bcmd\b|\.cmd$|pager|editor|helper|hookspath|fsmonitor|program|alias|external|textconv"
    r"|filter|driver|process|askpass|insteadof|proxy|include|match|provider|xauth|path$|trailer",
    re.IGNORECASE,
)


def starts_programs(head: str) -> bool:
    """Whether a setting `name=value` with this literal part can start a program by its value.

    >>> starts_programs("ProxyCommand="), starts_programs("user.name="), starts_programs("")
    (True, False, True)
    """
    name, equals, _ = head.partition("=")
    return not equals or _PROGRAM_SETTING.search(name) is not None
