"""Reads a command as the programs in it will read their words, and finds where arguments go."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress

from capdisc_guard.program_text.command_words import (
    Misuse,
    Word,
    literal_words,
    simple_commands,
)
from capdisc_guard.program_text.interpreters import (
    DASHES,
    Interpreter,
    Operands,
    Role,
    interpreter_of,
    load_interpreters,
    option_role,
    program_name,
    starts_programs,
)
from capdisc_guard.program_text.steering import is_steering
from capdisc_indexer.model.frozen import fields, frozen, replace

# Programs that only print or look at their words, whatever these look like.
_ONLY_PRINT = frozenset("echo printf grep egrep fgrep ag cat ls man which type".split())
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
# Shell text in shell text in shell text: nobody writes more levels.
_MAX_DEPTH = 4
# Pairs of word and state in one command; a longer command counts as unreadable.
MAX_STEPS = 20_000


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
        """Equal for equal states; the interpreter, a value of a table, counts by its identity."""
        return id(self.spec), *(getattr(self, name) for name in fields(self) if name != "spec")


class Reading:
    """One pass over a command. With `may_vanish` it also follows every way in which words of
    parameters without a value are left out. `is_fed` says that an argument comes on stdin.
    """

    def __init__(
        self, words: tuple[Word, ...], is_fed: bool, may_vanish: bool = False, depth: int = 0
    ) -> None:
        self._words, self._is_fed = words, is_fed
        self._may_vanish, self._depth = may_vanish, depth
        self._seen: set[tuple[object, ...]] = set()
        self._waiting: list[int] = []  # indexes of words that name a program
        self.misuses: dict[tuple[str, tuple[int, ...]], Misuse] = {}

    def read(self) -> Iterable[Misuse]:
        """The misuses in the order of reading."""
        self._program(0)
        self._read_waiting()
        first = program_name(self._words[0].text) if self._words else ""
        if first not in _ONLY_PRINT:
            is_wrapped = interpreter_of(first) is not None
            for index, word in enumerate(self._words[1:], 1):
                spec = interpreter_of(word.text) if word.head is None else None
                if spec is not None and spec.is_strong:
                    # Behind a program that is not known, or with unknown options, only options of
                    # the interpreter tell that the word means it.
                    state = State(spec, program_name(word.text), is_embedded=True)
                    self._step(index + 1, state, is_fed=self._is_fed and is_wrapped)
                    self._read_waiting()
            self._read_stdin_words()
        return self.misuses.values()

    def _program(self, index: int) -> None:
        """Note that the word at `index` names a program, to be read later: chains may be long."""
        self._waiting.append(index)

    def _read_waiting(self) -> None:
        done: set[int] = set()
        while self._waiting:
            index = self._waiting.pop()
            if index in done or index >= len(self._words):
                continue
            done.add(index)
            word = self._words[index]
            if self._may_vanish and word.span:
                self._program(index + word.span)
            # A command of one placeholder has a finding for its shape.
            if index or self._depth or len(self._words) > 1:
                name = self._words[index - 1].text if index else "the command"
                self._report("program", word, name)
            if word.head is None and (spec := interpreter_of(word.text)):
                self._step(index + 1, State(spec, program_name(word.text)), self._is_fed)

    def _step(self, index: int, state: State, is_fed: bool) -> None:
        pending = [(index, state)]
        while pending:
            index, state = pending.pop()
            if (index, *state.key) in self._seen:
                continue
            self._seen.add((index, *state.key))
            if len(self._seen) > MAX_STEPS:
                self.misuses["unreadable", ()] = Misuse(kind="unreadable", program=state.name)
                return
            if index >= len(self._words):
                self._end(state, is_fed)
                continue
            word = self._words[index]
            if self._may_vanish and word.span:
                pending.append((index + word.span, state))
            for following in self._consume(index, word, state, is_fed):
                pending.append((index + 1, following))
                if word.is_many:
                    pending.append((index, following))

    def _consume(self, index: int, word: Word, state: State, is_fed: bool) -> Iterator[State]:
        """The states after the word; none when all later words are safe."""
        if state.is_rest:
            if is_fed and word.text in _STDIN:
                self._report("stdin", word, state.name)
            self._text(word, state)
            yield state
        elif state.pending is not None:
            yield from self._pending(index, word, state, is_fed)
        elif self._is_option(word, state):
            yield from self._option(index, word, state)
        elif word.text == "--" and not state.is_over:
            if state.name in ("kubectl", "oc"):
                self._program(index + 1)
            else:
                yield replace(state, is_over=True)
        else:
            if word.head == "" and not state.is_over:
                self._leading(index, word, state)
            yield from self._operand(index, word, state, is_fed)

    def _is_option(self, word: Word, state: State) -> bool:
        if state.is_over or (state.operands and not state.spec.finds_late_options):
            return False
        start = word.literal[:1]
        signs = "-" + "+" * state.spec.has_plus_options + "/" * state.spec.has_slash_options
        signs += DASHES * state.spec.has_prefix_options
        return bool(start) and start in signs and word.text not in ("-", "--")

    def _pending(self, index: int, word: Word, state: State, is_fed: bool) -> Iterator[State]:
        role, after = state.pending, replace(state, pending=None)
        if role is Role.TWO:
            yield replace(state, pending=Role.VALUE)
        elif role is Role.TEXT:
            self._text(word, state)
            yield replace(after, is_given=True)
            if self._is_option(word, after):  # an option that may, but need not have a value
                yield from self._option(index, word, after)
        elif role is Role.FILE:
            yield from self._file(word, after, is_fed)
        elif role is Role.RUN:
            self._program(index)
            yield after
        elif role is Role.MODULE:
            yield from self._module(word, after)
        else:
            if role is Role.SETTING and starts_programs(word.literal):
                self._report("text", word, state.name, state)
            yield after

    def _option(self, index: int, word: Word, state: State) -> Iterator[State]:
        literal, spec = word.literal, state.spec
        name, equals, value = literal.partition("=")
        role = option_role(spec, name)
        if role is not None and (equals or word.head is None):
            yield from self._role(role, word, state, has_value=bool(equals), value=value)
        elif role is Role.REST:
            yield self._rest(word, state)
        elif literal[:1] in "-+" and literal[1:2] != "-" and not spec.has_prefix_options:
            yield from self._letters(word, literal, state)
        elif spec.has_slash_options:
            # Options of Windows, `/d/c`; what follows `/c` may stand in the same word.
            rest_names = [name for name, role in spec.roles.items() if role is Role.REST]
            if any(name in literal.casefold() for name in rest_names):
                yield self._rest(word, state)
            else:
                self._report("option", word, state.name, state)
                yield state
        else:
            if not equals:
                self._report("option", word, state.name, state)
            elif (
                word.head is not None
                and spec.operands in (Operands.ALL, Operands.TEXT)
                and not state.is_given
            ):
                # An option that it does not know may be text like the rest.
                self._text(word, state)
            yield state

    def _rest(self, word: Word, state: State) -> State:
        """Check a word that begins the program text; all later words belong to it."""
        self._text(word, state)
        return replace(state, is_rest=True, is_given=True)

    def _letters(self, word: Word, literal: str, state: State) -> Iterator[State]:
        """Short options in one word; one of them may take the rest of the word as its value."""
        spec = state.spec
        if literal[:1] == "+" and option_role(spec, "+c") is None and not spec.is_shell:
            self._text(word, state)  # +command of an editor
            yield state
            return
        for place, letter in enumerate(literal[1:], 2):
            role = spec.roles.get(literal[0] + letter)
            if role is Role.TURN:
                state = replace(state, is_turned=True)
            elif role is not None:
                has_value = place < len(literal) or word.head is not None
                yield from self._role(role, word, state, has_value, literal[place:])
                return
        self._report("option", word, state.name, state)
        yield state

    def _role(
        self, role: Role, word: Word, state: State, has_value: bool, value: str
    ) -> Iterator[State]:
        """The states after an option; `value` is the literal part of a value in its word."""
        if role is Role.TURN:
            yield replace(state, is_turned=True)
        elif role is Role.REST:
            yield replace(state, is_rest=True, is_given=True)
        elif role is Role.REST_OF_WORD:
            yield state
        elif not has_value:
            yield replace(state, pending=role)
        elif role is Role.TEXT:
            self._text(replace(word, text=value) if word.head is None else word, state)
            yield replace(state, is_given=True)
        elif role is Role.FILE:
            yield replace(state, is_given=value not in _STDIN)
        elif role is Role.TWO:
            yield replace(state, pending=Role.VALUE)
        elif role in (Role.MODULE, Role.RUN):
            self._report("program", word, state.name, state)
            if role is Role.RUN and word.head is None:
                yield state
        else:
            if role is Role.SETTING and starts_programs(value):
                self._report("text", word, state.name, state)
            yield state

    def _file(self, word: Word, state: State, is_fed: bool) -> Iterator[State]:
        if is_fed and (word.head == "" or word.text in _STDIN):
            self._report("stdin", word, state.name, state)
        yield replace(state, is_given=True)

    def _module(self, word: Word, state: State) -> Iterator[State]:
        self._report("program", word, state.name, state)
        if inner := load_interpreters()[1].get(word.text):
            yield State(inner, word.text, state.is_embedded)

    def _leading(self, index: int, word: Word, state: State) -> None:
        """An argument where options may stand: it becomes one if its schema lets it begin with a
        dash. For an interpreter, it could make the next word program text.
        """
        spec = state.spec
        if state.operands and not spec.finds_late_options:
            return
        is_followed = word.is_many or index + 1 < len(self._words)
        reads_program = (
            spec.operands is Operands.SCRIPT and not state.is_turned and not state.is_given
        )
        # Closed values are harmless where they are harmless as program text, and behind a wrapper.
        is_harmless = word.is_closed and (spec.takes_closed or spec.operands is Operands.COMMAND)
        if (reads_program and is_followed) or (word.may_lead_with_dash and not is_harmless):
            self._report("option", word, state.name, state)

    def _operand(self, index: int, word: Word, state: State, is_fed: bool) -> Iterator[State]:
        spec = state.spec
        if word.head is None and not state.operands and (inner := spec.subcommands.get(word.text)):
            yield State(inner, f"{state.name} {word.text}", state.is_embedded)
            return
        after = replace(state, operands=min(state.operands + 1, 3))
        if spec.operands is Operands.COMMAND:
            yield from self._command(index, word, state)
        elif spec.operands is Operands.SCRIPT:
            if state.is_turned:
                self._text(word, state, following=self._words[index + 1 :])
            elif is_fed and not state.is_given and (word.head == "" or word.text in _STDIN):
                self._report("stdin", word, state.name, state)
        elif spec.operands is Operands.TEXT:
            if not state.is_given and not self._has_program(index, spec):
                self._text(word, state)
            yield replace(after, is_given=True)
        elif spec.operands is Operands.ALL:
            yield from self._all(index, word, after)
        elif spec.operands is Operands.AFTER_FIRST and state.operands:
            if not state.is_given and spec.is_shell:
                self._shell(_join_literal_words(self._words[index:]), word, (), state)
            self._text(word, state)
            yield replace(after, is_given=True, is_over=spec.is_shell or state.is_over)
        else:
            yield after

    def _all(self, index: int, word: Word, after: State) -> Iterator[State]:
        if after.name == "parallel" and word.text in (":::", "::::", ":::+"):
            return
        if after.spec.is_shell and after.operands == 1:
            self._shell(_join_literal_words(self._words[index:]), word, (), after)
        if after.name in ("make", "gmake", "remake", "mingw-make") and word.is_closed:
            yield after
            return
        self._text(word, after)
        yield replace(after, is_given=True)

    def _command(self, index: int, word: Word, state: State) -> Iterator[State]:
        """An operand of a wrapper: its own, an assignment, or the program that it starts."""
        literal = word.literal
        if state.operands < state.spec.skip:
            yield replace(state, operands=state.operands + 1)
        elif state.spec.takes_assignments and "=" in literal:
            if is_steering(name := literal.partition("=")[0]):
                self._report("variable", word, name, state)
            yield state
        elif not state.is_embedded and not (word.head is not None and state.spec.has_own_program):
            self._program(index)

    def _has_program(self, index: int, spec: Interpreter) -> bool:
        """Whether a later literal word gives the program: `sed FILE -e TEXT`."""
        names = [name for name, role in spec.roles.items() if role in (Role.TEXT, Role.FILE)]
        later = [word.text for word in self._words[index + 1 :] if word.head is None]
        return spec.permutes and any(text in names for text in later)

    def _text(self, word: Word, state: State, following: tuple[Word, ...] = ()) -> None:
        """Check a word of program text: no argument may stand in it, nor reach what it runs."""
        if word.head is not None:
            if not (state.spec.takes_closed and word.is_closed):
                self._report("text", word, state.name, state)
        elif state.name == "env":
            self._split_words(word)
        elif state.spec.is_shell:
            self._shell(word.text, word, following, state)

    def _shell(self, text: str, word: Word, following: tuple[Word, ...], state: State) -> None:
        """Check shell text by the author, in which `$1` and the like are arguments of the call."""
        if self._depth >= _MAX_DEPTH:
            return
        names = tuple(dict.fromkeys(name for later in following for name in later.names))
        for command in simple_commands(text):
            words = (
                command.words
                if names
                else tuple(replace(plain, head=None, names=()) for plain in command.words)
            )
            if names and any(is_steering(name) for name in command.assignments):
                self._add(
                    Misuse(
                        kind="variable", program=command.assignments[0], at=word.at, names=names
                    )
                )
            is_fed = self._is_fed or (command.is_fed and bool(names))
            for inner in Reading(words, is_fed, depth=self._depth + 1).read():
                self._add(replace(inner, at=word.at, names=names))

    def _split_words(self, word: Word) -> None:
        """Check `env -S "sh -c" …`, which splits the text into words before the later ones."""
        with suppress(ValueError):
            later = self._words[self._words.index(word) + 1 :]
            words = (*literal_words(shlex.split(word.text)), *later)
            if self._depth < _MAX_DEPTH:
                for inner in Reading(words, self._is_fed, depth=self._depth + 1).read():
                    self._add(inner if inner.at else replace(inner, at=word.at))

    def _read_stdin_words(self) -> None:
        """Check `xargs -I % sh -c "echo %"`, which puts what it reads into program text."""
        texts = [word.text for word in self._words if word.head is None]
        readers = [
            index
            for index, text in enumerate(texts)
            if program_name(text) in ("xargs", "parallel")
        ]
        if not (self._is_fed and readers):
            return
        later = texts[readers[0] + 1 :]
        replaces = any(text.startswith(("-I", "-i", "-J", "--replace")) for text in later)
        strong = [text for text in later if (spec := interpreter_of(text)) and spec.is_strong]
        if strong and replaces:
            self._add(Misuse(kind="stdin", program=program_name(strong[0])))

    def _end(self, state: State, is_fed: bool) -> None:
        if is_fed and not state.is_given and (state.spec.reads_stdin or state.is_turned):
            self._add(Misuse(kind="stdin", program=state.name, hint=state.spec.hint))

    def _report(self, kind: str, word: Word, program: str, state: State | None = None) -> None:
        """Add a misuse of the arguments in the word; a word without any can only be stdin."""
        if word.head is None and kind != "stdin":
            return
        if kind == "text" or state is None or not state.is_embedded:
            hint = state.spec.hint if state else ""
            self._add(Misuse(kind=kind, program=program, at=word.at, names=word.names, hint=hint))

    def _add(self, misuse: Misuse) -> None:
        self.misuses.setdefault((misuse.kind, misuse.at), misuse)


def _join_literal_words(words: tuple[Word, ...]) -> str:
    """The words joined as ssh and eval do it, without those that hold an argument: these have
    findings of their own.
    """
    return " ".join(word.text for word in words if word.head is None)
