"""capdisc run: make the call that a capability describes."""

from __future__ import annotations

from typing import Annotated

from capdisc import answering, asking, options, runtime
from capdisc.declaring import argument, option
from capdisc_indexer.errors import RefusedError, UsageError
from capdisc_indexer.index import Index
from capdisc_indexer.types import Descriptor

MAX_SECONDS = 86_400.0
NOT_RUN = "capdisc doctor says what is wrong with a folder; from a shared index nothing is run, index its files here"


def run(
    identifier: Annotated[str, argument(metavar="ID", help="The capability's id or name.")],
    arguments: Annotated[str, argument(metavar="[JSON]", help="Its arguments; - reads them from stdin.")] = "",
    dry_run: Annotated[bool, option("--dry-run", help="Print the call, and do not make it.")] = False,
    fill: Annotated[bool, option("--fill", help="Print the arguments with their defaults, and stop.")] = False,
    yes: Annotated[bool, option("--yes", help="Do not ask; refuse nothing that a yes would allow.")] = False,
    timeout: Annotated[
        float | None,
        option(metavar="TIME", parser=options.seconds, help="End it after so long [60s, or its manifest's]."),
    ] = None,
    max_output: Annotated[
        int, option(metavar="KIB", min=1, max=1024 * 1024, help="End it once it printed more.")
    ] = 1024,
    allow_private: Annotated[bool, option("--allow-private", help="HTTP: private hosts, any port.")] = False,
    allow_http: Annotated[bool, option("--allow-http", help="HTTP: without encryption too.")] = False,
    index_dir: options.IndexDir = None,
    json: options.Json = False,
) -> int:
    """Run a capability whose manifest says how: a command, a tool of an MCP server, or an HTTP operation.

    What it prints and its exit status are passed on. What is run for the first time as it is now, has side effects or
    a risk above low is asked about at a terminal, and needs --yes elsewhere. One that does not say how it is run is
    answered with the call to make, and exit status 3.

    Example: capdisc run git-status --dry-run
    """
    here = runtime.current()
    with asking.opened(index_dir) as asked:
        if doubt := asked.doubt:
            raise RefusedError(f"nothing is run from this index: {doubt}", NOT_RUN)
        descriptor, roots = _found(asked.index, identifier), tuple(asked.index.meta("scan")["roots"])
        api_url = _api_url(asked.index, descriptor)
    from capdisc import execution
    from capdisc_indexer.running.examples import example
    from capdisc_indexer.running.values import Place
    from capdisc_indexer.tools.definitions.made import schema_of
    from capdisc_indexer.tools.definitions.parameters import own_names

    typed = answering.arguments(arguments, None, example(descriptor.schema))
    given = own_names(schema_of(descriptor), typed)
    if fill:
        return execution.fill(descriptor, given, json)
    if not descriptor.run:
        return execution.leave_to_caller(descriptor, given, api_url, json)
    place = Place(environ=here.environ, cwd=here.cwd, roots=roots, allow_http=allow_http, allow_private=allow_private)
    wish = execution.Wish(seconds=_limit(timeout), max_bytes=max_output * 1024, dry_run=dry_run, yes=yes, json=json)
    return execution.run(here, descriptor, given, place, wish)


def _limit(timeout: float | None) -> float | None:
    if timeout is not None and not 0 < timeout <= MAX_SECONDS:
        raise UsageError("--timeout must be more than 0 seconds and at most a day", "see: capdisc run --help")
    return timeout


def _found(index: Index, identifier: str) -> Descriptor:
    try:
        return index.descriptor(identifier)
    except UsageError as error:
        hint = error.hint.removesuffix("run: capdisc list")
        search = "capdisc search WORDS finds capabilities, capdisc list prints all"
        raise UsageError(error.message, f"{hint}; {search}" if hint else search) from None


def _api_url(index: Index, descriptor: Descriptor) -> str:
    """Where the API of an operation is, for one that is left to the caller."""
    api = descriptor.extra.get("api") if descriptor.kind == "operation" else None
    head = index.resolve(f"api:{api}") if api else None
    return str(index.whole(head).extra.get("url") or "") if head else ""
