"""Keeps compiled regular expressions between commands, where Python keeps compiled modules.

Python compiles a module once and its expressions in every process: of the 130 ms in which
`validate` checked a file, 75 went into 190 expressions. The file lies in the package's
`__pycache__`, is written when Python would write there, and is as trusted as the modules beside
it. It holds expressions that stand in code; one that is made of a request never gets there.

`re._compiler.compile` is replaced, the one function that all of `re` compiles with. Its steps are
private, so that with a Python that has others nothing is kept.
"""

from __future__ import annotations

import marshal
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

# By pattern and flags, the marshalled arguments of `_sre.compile`.
Table: TypeAlias = dict[tuple[str | bytes, int], bytes]

_VERSION = 1
# More would be a mistake: all expressions of all modules are some 700, and take 1 MB.
_MAX_ENTRIES, _MAX_BYTES = 3_000, 8 << 20
# An expression is kept if it is compiled while its module is imported, or here, where patterns of
# modules are compiled on first use. Later it may hold what a user wrote.
_LATE_MODULE, _LATE_NAME = "capdisc_indexer.text.normalization", "__getattr__"


class CompiledExpressions:
    """The kept expressions, and those that this process compiled and may keep."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._table = _read_table(path)
        self._new: Table = {}

    def install(self) -> None:
        """Take kept expressions instead of compiling them, from now on."""
        with suppress(AttributeError, ImportError):
            from re import _compiler, _parser  # type: ignore[attr-defined]

            steps = (_parser.parse, _compiler._code, _compiler._sre.compile)
            _compiler.compile = self._compile_with(_compiler.compile, *steps)

    def _compile_with(
        self,
        compile_anew: Callable[..., Any],
        parse: Callable[..., Any],
        encode: Callable[..., Any],
        make: Callable[..., Any],
    ) -> Callable[..., Any]:
        table, new = self._table, self._new

        def compile_or_load(pattern: Any, flags: int = 0) -> Any:
            try:
                stored = table.get((pattern, flags))
            except TypeError:  # neither text nor bytes
                stored = None
            if stored is not None:
                with suppress(ValueError, TypeError, EOFError, RuntimeError, OverflowError):
                    all_flags, code, *groups = marshal.loads(stored)
                    return make(pattern, all_flags, memoryview(code).cast("I").tolist(), *groups)
            if type(pattern) not in (str, bytes) or flags & re.DEBUG or not _is_of_code():
                return compile_anew(pattern, flags)
            parsed = parse(pattern, flags)
            code = encode(parsed, flags)
            state = parsed.state
            names: list[str | None] = [None] * state.groups
            for name, place in state.groupdict.items():
                names[place] = name
            groups = [state.groups - 1, dict(state.groupdict), tuple(names)]
            all_flags = int(flags | state.flags)
            data = b"".join(word.to_bytes(4, sys.byteorder) for word in code)
            new[pattern, flags] = marshal.dumps((all_flags, data, *groups))
            return make(pattern, all_flags, code, *groups)

        return compile_or_load

    def save(self) -> None:
        """Add the new expressions to the file; where it cannot be written, the next command
        compiles them again.
        """
        if not self._new or sys.dont_write_bytecode:
            return
        table = (_read_table(self._path) | self._new) or self._new
        if len(table) > _MAX_ENTRIES:
            table = self._new
        temporary = f"{self._path}.{os.getpid()}"
        with suppress(OSError, ValueError):
            data = marshal.dumps((_read_header(), table))
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, 0o644)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
            os.replace(temporary, self._path)  # noqa: PTH105  paths are text in a cold start


def keep_expressions() -> CompiledExpressions:
    """The expressions kept beside the compiled modules of this package, in use from now on."""
    folder = os.path.dirname(__spec__.cached or __file__)  # noqa: PTH120
    kept = CompiledExpressions(f"{folder}/expressions.{sys.implementation.cache_tag}.bin")
    kept.install()
    return kept


def _is_of_code() -> bool:
    """Whether the expression that is being compiled stands in code."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__") == "re" and frame.f_back is not None:
        frame = frame.f_back
    names = frame.f_globals
    if (names.get("__name__"), frame.f_code.co_name) == (_LATE_MODULE, _LATE_NAME):
        return True
    return bool(getattr(names.get("__spec__"), "_initializing", False))


def _read_header() -> tuple[int, int, int]:
    import _sre  # type: ignore[import-not-found]

    return (_VERSION, sys.hexversion, _sre.MAGIC)


def _read_table(path: str) -> Table:
    """The table of the file; empty where there is none of this Python."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            header, table = marshal.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, TypeError, EOFError):
        return {}
    return table if header == _read_header() and isinstance(table, dict) else {}
