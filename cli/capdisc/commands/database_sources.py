"""Ask the databases of the configuration for their tables, where the user said so, and keep what
they answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from capdisc.context import surroundings
from capdisc.output import console
from capdisc_indexer.model.errors import CapdiscError, InputError
from capdisc_indexer.model.types import DeclaredSource
from capdisc_indexer.store import state_file

_ASK_COMMAND = "capdisc index --ask-servers"


def ask_databases(
    runtime: surroundings.Runtime, sources: Sequence[DeclaredSource], everyone: bool
) -> None:
    """Ask the databases of the sources: of all with `everyone`, else of those whose own user says
    `ask = true`. One that fails is told of, and what it said last stays.
    """
    for source in sources:
        if "url_secret" not in source.options:
            continue
        wants = bool(source.options.get("ask"))
        if everyone or (wants and source.trusted):
            _ask_database(runtime, source)
        elif wants:
            message = f"ask = true counts in your own configuration only, not in {source.origin}"
            console.print_notice(f"notice: {message}; to ask its database: {_ASK_COMMAND}")


def _ask_database(runtime: surroundings.Runtime, source: DeclaredSource) -> None:
    from capdisc_indexer.sources.formats.tables.reflected_tables import kept_text
    from capdisc_indexer.sources.formats.tables.reflection import reflect_database

    answer_path = Path(source.path)
    name = source.name or str(source.options["url_secret"])
    try:
        answer = reflect_database(_database_url(runtime, str(source.options["url_secret"])))
        with state_file.lock_folder(answer_path.parent):
            state_file.replace_state_file(
                answer_path, kept_text(datetime.now(UTC).isoformat(timespec="seconds"), answer)
            )
    except CapdiscError as problem:
        stays = "; what it said last stays" if answer_path.exists() else ""
        console.print_notice(
            f"notice: the database {name} could not be asked: {problem.message}{stays} ({problem.hint})"
        )


def _database_url(runtime: surroundings.Runtime, secret: str) -> str:
    """The address that the environment holds under this name. Raises InputError where it holds
    none.
    """
    if url := runtime.environ.get(secret):
        return url
    raise InputError(f"{secret} is not set", f"set {secret} to the database's address")
