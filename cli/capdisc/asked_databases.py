"""Ask the databases of the configuration for their tables, where the user said so, and keep what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from capdisc import output, runtime
from capdisc_indexer.errors import CapdiscError, InputError
from capdisc_indexer.store import state_file
from capdisc_indexer.types import DeclaredSource

_ASK = "capdisc index --ask-servers"


def ask(here: runtime.Runtime, sources: Sequence[DeclaredSource], everyone: bool) -> None:
    """Ask the databases of the sources: of all with `everyone`, else of those whose own user says `ask = true`. One
    that fails is told of, and what it said last stays."""
    for source in sources:
        if "url_secret" not in source.options:
            continue
        wants = bool(source.options.get("ask"))
        if everyone or (wants and source.trusted):
            _ask(here, source)
        elif wants:
            message = f"ask = true counts in your own configuration only, not in {source.origin}"
            output.notice(f"notice: {message}; to ask its database: {_ASK}")


def _ask(here: runtime.Runtime, source: DeclaredSource) -> None:
    from capdisc_indexer.sources.tables.reflected import kept_text
    from capdisc_indexer.sources.tables.reflecting import asked

    kept = Path(source.path)
    name = source.name or str(source.options["url_secret"])
    try:
        answer = asked(_url(here, str(source.options["url_secret"])))
        with state_file.changing(kept.parent):
            state_file.replace(kept, kept_text(datetime.now(UTC).isoformat(timespec="seconds"), answer))
    except CapdiscError as problem:
        stays = "; what it said last stays" if kept.exists() else ""
        output.notice(f"notice: the database {name} could not be asked: {problem.message}{stays} ({problem.hint})")


def _url(here: runtime.Runtime, secret: str) -> str:
    """The address that the environment holds under this name. Raises InputError where it holds none."""
    if found := here.environ.get(secret):
        return found
    raise InputError(f"{secret} is not set", f"set {secret} to the database's address")
