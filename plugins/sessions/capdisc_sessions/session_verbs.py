"""The verbs of `capdisc session`: those that print a session, and those that change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from capdisc.context import open_index, surroundings, user_files
from capdisc.context.session_memory import log_event
from capdisc.output import command_process, console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Budgets, Descriptor, Query, Ranking
from capdisc_indexer.rendering.assembly import assemble
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.rendering.render_job import RenderInputs
from capdisc_indexer.sources.readers import json_reader
from capdisc_indexer.text.o200k import load_counter
from capdisc_indexer.text.token_counts import TokenCounter
from capdisc_sessions import memory, session_files, transitions
from capdisc_sessions.session_types import Session, Usage
from capdisc_sessions.transitions import Extraction, extract_entities, parse_rule

MAX_RESULT_BYTES = 4 * 1024 * 1024
# After this many results without an entity, a notice says that a rule may be wrong.
MIN_BARREN_RESULTS = 3


@frozen(kw_only=True)
class SessionCommand:
    """One call of `capdisc session` as it was typed. `result` is "ok", "failed" or ""."""

    runtime: surroundings.Runtime
    name: str
    words: tuple[str, ...]
    result: str
    tools: bool
    delete: bool
    max_tokens: int | None
    index_dir: Path | None
    json: bool

    @property
    def state_dir(self) -> Path:
        """The folder of the sessions."""
        return self.runtime.state_dir()

    def ids(self) -> list[str]:
        """The ids or names that were typed, and those on stdin for `-`, each once. Raises
        UsageError where there is none.
        """
        identifiers = [line.strip() for word in self.words for line in self._lines(word)]
        if not any(identifiers):
            raise UsageError(
                "no id was given",
                "capdisc search QUERY --ids prints some; - reads them from stdin",
            )
        return [identifier for identifier in dict.fromkeys(identifiers) if identifier]

    def one_id(self) -> str:
        """The id. Raises UsageError unless there is exactly one."""
        identifiers = self.ids()
        if len(identifiers) > 1:
            raise UsageError("this takes one id", "call it once for each")
        return identifiers[0]

    def text(self) -> str:
        """The words that were typed, `-` for those on stdin, as one text. Raises UsageError where
        there are none.
        """
        words = (command_process.read_stdin_text() if word == "-" else word for word in self.words)
        if not (text := " ".join(words).strip()):
            raise UsageError("the text is empty", "type it behind the name, or - to read stdin")
        return text

    def load(self) -> Session:
        """The session. Raises UsageError, with similar names, where there is none."""
        return session_files.load_session(self.state_dir, self.name)

    def update(self, step: Callable[[Session], Session], repair: bool = False) -> Session:
        """The session after the step, as it was written; see `session_files.update_session`."""
        return session_files.update_session(self.state_dir, self.name, step, repair=repair)

    def find_ids(self, names: Sequence[str]) -> list[str]:
        """The ids of the capabilities with these names. Raises UsageError, which names similar
        ones, for a name that the index does not have.
        """
        self.load()
        with open_index.open_index(self.index_dir) as ctx:
            return [ctx.index.descriptor(name).id for name in names]

    def _lines(self, word: str) -> list[str]:
        if word == "-":
            return command_process.read_stdin_text(user_files.MAX_FILE_BYTES).splitlines()
        return [word]


# The verbs that print a session.


def list_(command: SessionCommand) -> int:
    """Print the names of all sessions."""
    names = session_files.list_sessions(command.state_dir)
    if command.json:
        console.print_document({"sessions": names, "state_dir": str(command.state_dir)})
    elif names:
        console.print_lines(names)
    else:
        console.print_notice("notice: there is no session yet")
    return ExitCode.OK


def show(command: SessionCommand) -> int:
    """Print everything that the session holds."""
    session = command.load()
    if command.json:
        console.print_document(session_files.session_document(session))
    else:
        console.print_lines(_format_session(session))
    return ExitCode.OK


def _format_session(session: Session) -> Iterator[str]:
    yield f"session {session.name}, turn {session.turn}, begun {session.created}, changed {session.updated}"
    if session.mode:
        yield f"way of working: {session.mode}"
    for identifier in session.active:
        yield f"active      {identifier}"
    for identifier, discovery in session.discovered.items():
        times = console.format_count(discovery.count, "time")
        yield f"discovered  {identifier}  {times}, last in turn {discovery.turn}"
    for identifier, usage in session.used.items():
        last_result = f", last {usage.last}" if usage.last else ""
        yield f"used        {identifier}  {_format_counts(usage)}{last_result}"
    for entity in session.entities:
        yield f"entity      {entity.type}: {entity.name} ({entity.id}) from {entity.source}, turn {entity.turn}"
    for note in session.notes:
        yield f"note        {note.text}"


def _format_counts(usage: Usage) -> str:
    times = console.format_count(usage.count, "time")
    return f"{times}, {usage.ok} ok, {usage.failed} failed"


def prompt(command: SessionCommand) -> int:
    """Print the memory for an agent, and the active capabilities in full, within the budget."""
    session = command.load()
    budget = command.max_tokens or int(command.runtime.config()["budget"])
    counter = TokenCounter(load_counter)
    lines = memory.fit_memory_lines(session, budget, counter.exact)
    if not lines and memory.memory_lines(session):
        raise UsageError(
            f"a budget of {budget} tokens is too small for any of it", "give a larger --max-tokens"
        )
    remembered = "".join(f"{console.sanitise(line)}\n" for line in lines)
    detail = ""
    if session.active:
        detail = _format_active(command, session, budget - counter.exact(remembered), counter)
    if command.json:
        tokens = counter.exact(remembered + detail)
        console.print_document(
            {
                "session": session.name,
                "prompt": remembered + detail,
                "tokens": tokens,
                "budget": budget,
            }
        )
    elif remembered or detail:
        console.print_result(remembered + detail)
    else:
        console.print_notice(f"notice: the session {session.name} is empty")
    return ExitCode.OK


def _format_active(
    command: SessionCommand, session: Session, budget: int, counter: TokenCounter
) -> str:
    """The active capabilities as `render` prints its details. A notice names those that the index
    no longer has.
    """
    descriptors: list[Descriptor] = []
    with open_index.open_index(command.index_dir) as ctx:
        for identifier in session.active:
            if header := ctx.index.documents.headers_for([identifier], Query(texts=())):
                descriptors.append(ctx.index.full_descriptor(header[identifier]))
            else:
                console.print_notice(f"notice: {identifier} is active and no longer in the index")
    form = FORMATS["text"]
    inputs = RenderInputs(
        overview=(), descriptors=descriptors, levels=(2,), details=len(descriptors)
    )
    empty_ranking = Ranking(query=Query(texts=()), hits=(), mode="none", confidence=0.0)
    context = assemble(inputs, empty_ranking, form, Budgets(tier2=budget, total=budget), counter)
    for tier in context.tiers:
        if tier.dropped:
            names = [
                f"{block.id} ({'cut' if block.clipped else 'left out'})" for block in tier.dropped
            ]
            console.print_notice(f"notice: not whole, to fit: {console.format_names(names)}")
    return form.format_context(form, context)


# The verbs that change a session.


def new(command: SessionCommand) -> int:
    """Begin a session."""
    session = session_files.create_session(command.state_dir, command.name)
    return _print_outcome(command, session, f"began {command.name}")


def use(command: SessionCommand) -> int:
    """Count a use of a capability, and whether it worked."""
    (identifier,) = command.find_ids([command.one_id()])
    changed = command.update(
        lambda session: transitions.record_use(session, identifier, command.result)
    )
    if command.runtime.config()["log"]:
        is_ok = command.result != "failed"
        log_event(command.runtime, "use", [identifier], session=command.name, ok=is_ok)
    return _print_outcome(
        command, changed, f"{identifier}: used {_format_counts(changed.used[identifier])}"
    )


def add(command: SessionCommand) -> int:
    """Add capabilities to those that every prompt of the session shows in full."""
    ids = command.find_ids(command.ids())
    changed = command.update(lambda session: transitions.activate_capabilities(session, ids))
    return _print_outcome(command, changed, *(f"added {identifier}" for identifier in ids))


def drop(command: SessionCommand) -> int:
    """Remove capabilities from the session, also those that the index no longer has."""
    names, known_ids = command.ids(), command.load().known_ids
    ids = [name if name in known_ids else command.find_ids([name])[0] for name in names]
    if missing := [identifier for identifier in ids if identifier not in known_ids]:
        raise UsageError(
            f"the session {command.name} does not hold {console.format_names(missing)}",
            f"capdisc session show {command.name}",
        )
    changed = command.update(lambda session: transitions.drop_capabilities(session, ids))
    return _print_outcome(command, changed, *(f"dropped {identifier}" for identifier in ids))


def note(command: SessionCommand) -> int:
    """Add a line of text to the session."""
    text = command.text()
    changed = command.update(lambda session: transitions.add_note(session, text))
    return _print_outcome(command, changed, f"noted{f' ({changed.mode})' if changed.mode else ''}")


def clear(command: SessionCommand) -> int:
    """Empty the session, or its capabilities alone, or delete it."""
    if command.delete:
        session_files.delete_session(command.state_dir, command.name)
        console.print_lines([f"deleted {command.name}"])
        return ExitCode.OK
    changed = command.update(
        lambda session: transitions.clear_session(session, command.tools), repair=not command.tools
    )
    return _print_outcome(
        command, changed, f"cleared {command.name}{' of its tools' if command.tools else ''}"
    )


def turn(command: SessionCommand) -> int:
    """Print the context of a message with the memory of the session, and record what was found; as
    JSON also the definitions of the functions that were found in this turn and in those before.
    """
    # 80 modules that no other verb needs.
    from capdisc.commands.tool_definitions import DefinitionOptions, select_definitions
    from capdisc.render.context import build_context, remember_shown
    from capdisc.render.render_context import prepare_render
    from capdisc.render.render_notices import print_notices
    from capdisc.render.render_options import RenderOptions

    name = command.name
    options = RenderOptions(words=[command.text()], budget=command.max_tokens, session=name)
    with open_index.open_index(command.index_dir) as ctx:
        render_ctx = prepare_render(ctx, options)
        context = build_context(render_ctx)
        memory.announce_new_session(command.runtime, name)
        session_files.update_session(command.state_dir, name, lambda session: session, create=True)
        remember_shown(render_ctx, context)
        session = command.load()
        definition_options = DefinitionOptions(progressive=True, session=name)
        definitions = select_definitions(ctx, Query(texts=()), definition_options)
        prompt = render_ctx.form.format_context(render_ctx.form, context)
    if command.json:
        new_ids = [key for key, entry in session.discovered.items() if entry.turn == session.turn]
        console.print_document(
            {
                "session": name,
                "turn": session.turn,
                "mode": session.mode,
                "prompt": prompt,
                "tokens": render_ctx.counter.exact(prompt),
                "found": new_ids,
                "tools": definitions.value,
            }
        )
    else:
        console.print_result(prompt)
        names = ", ".join(definitions.names.values())
        console.print_notice(f"notice: functions of this turn: {names} (--json defines them)")
    print_notices(render_ctx, context)
    return ExitCode.OK


def observe(command: SessionCommand) -> int:
    """Add the entities of a capability's result, which stdin holds, to the session."""
    with open_index.open_index(command.index_dir) as ctx:
        descriptor = ctx.index.descriptor(command.one_id())
    command.load()  # which fails before stdin is waited for
    result = _read_result()
    extraction = record_result(command.state_dir, command.name, descriptor, result)
    if command.json:
        console.print_document(
            {"entities": extraction.entities, "total": extraction.total, "why": extraction.why}
        )
    elif extraction.entities:
        console.print_lines(
            f"{entity.type}: {entity.name} ({entity.id})" for entity in extraction.entities
        )
    return ExitCode.OK


def record_result(state_dir: Path, name: str, descriptor: Descriptor, result: Any) -> Extraction:
    """The entities of a result of the capability, which are added to the session. Notices say why
    there are none or fewer.
    """
    extraction = _extract_result(descriptor.id, descriptor.extract, result)
    changed = session_files.update_session(
        state_dir,
        name,
        lambda session: transitions.record_observation(session, extraction.entities),
    )
    if extraction.why:
        origin = (
            f"from {descriptor.id}" if extraction.entities else f"no entity from {descriptor.id}"
        )
        console.print_notice(f"notice: {origin}: {extraction.why}")
    if changed.observed >= MIN_BARREN_RESULTS and changed.barren == changed.observed:
        console.print_notice(
            f"notice: none of {changed.observed} results gave an entity: look at the rules (extraction)"
        )
    return extraction


def _extract_result(identifier: str, declared: Any, result: Any) -> Extraction:
    """The entities of a result by the `extraction` that the capability declares, of any shape."""
    if declared is None:
        return Extraction(why="it declares no extraction")
    rule = parse_rule(declared)
    if isinstance(rule, str):  # what is wrong with it
        return Extraction(why=f"its extraction says nothing: {rule}")
    return extract_entities(rule, result, identifier)


def _read_result() -> Any:
    data = command_process.read_stdin_bytes(MAX_RESULT_BYTES + 1)
    if len(data) > MAX_RESULT_BYTES:
        raise InputError(
            f"the result has more than {MAX_RESULT_BYTES // 1024 // 1024} MiB",
            "pass on a part of it",
        )
    try:
        return json_reader.loads(data)
    except ValueError as error:
        raise InputError(
            f"the result on stdin is not JSON: {str(error)[:200]}", "pipe the tool's result in"
        ) from error


def _print_outcome(command: SessionCommand, changed: Session, *lines: str) -> int:
    if command.json:
        console.print_document(session_files.session_document(changed))
    else:
        console.print_lines(lines)
    return ExitCode.OK
