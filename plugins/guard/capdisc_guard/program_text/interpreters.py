"""How programs read their words: what their options take, what their other words are. The programs
are data, in interpreters.toml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import field, fields, frozen
from capdisc_indexer.text.normalization import compile_late

DASHES = "-\u2013\u2014\u2015"  # PowerShell takes each of them for a dash
# `python3.11`, `bash-5.2`, `sqlite3`, `python3.13t`: the version is not part of the name.
_VERSION = compile_late(r"(?<=[a-z])[-_]?\d[\d._]*[a-z]?(?:-[a-z0-9]+)?$")
_ENDING = compile_late(r"\.(?:exe|com|cmd|bat)$")
# Settings whose value is a command. In ssh_config(5) ProxyCommand and its kind; in git-config(1)
# aliases, editors, pagers, helpers, filters, drivers, and rewritten addresses, since `ext::` is an
# address that starts a program.
_PROGRAM_SETTING = compile_late(
    r"command|\bcmd\b|\.cmd$|pager|editor|helper|hookspath|fsmonitor|program|alias|external|textconv"
    r"|filter|driver|process|askpass|insteadof|proxy|include|match|provider|xauth|path$|trailer",
    re.IGNORECASE,
)


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
    has_own_program: bool = False  # what is in its place may be words for that program
    hint: str = ""

    @property
    def finds_late_options(self) -> bool:
        """Whether it looks for options behind its first operand, too."""
        return self.permutes or self.operands is Operands.COMMAND


# Tables of interpreters.toml, by key.
_Tables: TypeAlias = Mapping[str, Any]


@cache
def load_interpreters() -> tuple[Mapping[str, Interpreter], Mapping[str, Interpreter]]:
    """The programs by name, and the modules for `python -m` that run their words."""
    import tomllib  # 5 ms with the file, spent at the first command with arguments

    path = Path(__file__).with_name("interpreters.toml")
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    kinds = tables["kinds"]
    programs = {table["names"]: table for table in tables["program"]}
    return _interpreters(programs, kinds), _interpreters(tables["modules"], kinds)


def _interpreters(tables: _Tables, kinds: _Tables) -> dict[str, Interpreter]:
    return {
        name: interpreter
        for names, table in tables.items()
        for interpreter in (_interpreter(table, kinds),)
        for name in names.split()
    }


def _interpreter(table: _Tables, kinds: _Tables) -> Interpreter:
    while "like" in table:
        kind = kinds[table["like"]]
        table = {**kind, **{key: value for key, value in table.items() if key != "like"}}
    roles = {
        option: Role[key.upper()]
        for key, options in table.items()
        if key.upper() in Role.__members__
        for option in options.split()
    }
    plain = {key: value for key, value in table.items() if key in fields(Interpreter)}
    plain["operands"] = Operands[table.get("operands", "script").upper()]
    plain["subcommands"] = _interpreters(table.get("subcommands", {}), kinds)
    return Interpreter(roles=roles, **plain)


def program_name(word: str) -> str:
    """The name of a program without folder, version and Windows ending, in small letters.

    >>> program_name("/usr/bin/python3.11"), program_name(r"C:\\\\Windows\\\\CMD.EXE"), program_name("sqlite3")
    ('python', 'cmd', 'sqlite')
    """
    name = _ENDING.sub("", re.split(r"[\\/]", word)[-1].casefold())
    return name if name in load_interpreters()[0] else _VERSION.sub("", name)


def interpreter_of(word: str) -> Interpreter | None:
    """The entry of a program; None for a program without one."""
    return load_interpreters()[0].get(program_name(word))


def option_role(spec: Interpreter, name: str) -> Role | None:
    """The role of an option, None for one that is not known. Long names may be cut short, as
    getopt and PowerShell allow.
    """
    if spec.has_slash_options and not spec.has_prefix_options:
        return spec.roles.get(name.casefold())
    option, may_be_cut, preferred = name, name.startswith("--") and len(name) > 3, Role.TEXT
    if spec.has_prefix_options:
        option = f"-{name.lstrip(DASHES + '/').casefold()}"
        may_be_cut, preferred = option != "-", Role.REST
    if option in spec.roles or not may_be_cut:
        return spec.roles.get(option)
    matching = [role for long_name, role in spec.roles.items() if long_name.startswith(option)]
    return preferred if preferred in matching else next(iter(matching), None)


def starts_programs(head: str) -> bool:
    """Whether a setting `name=value` with this literal part can start a program by its value.

    >>> starts_programs("ProxyCommand="), starts_programs("user.name="), starts_programs("")
    (True, False, True)
    """
    name, equals, _ = head.partition("=")
    return not equals or _PROGRAM_SETTING.search(name) is not None
