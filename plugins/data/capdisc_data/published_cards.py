"""What agents and MCP servers publish about themselves: A2A agent cards, with each skill of the
agent, and the `server.json` of the MCP registry.

A card names addresses and packages. Nothing here contacts or installs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from capdisc_data.refusals import accept, catch_refusal, refuse
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.manifest_adapter import (
    CapabilityDraft,
    is_wanted,
    merge_drafts,
    read_text_field,
)
from capdisc_indexer.sources.formats.naming_rules import folder_of, is_secret_name, plain_part
from capdisc_indexer.sources.formats.parsed_capability import file_finding
from capdisc_indexer.sources.readers.file_bytes import mark_finding
from capdisc_indexer.sources.readers.json_reader import named_lines, read_export
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line, split_lead

_MAX_SKILLS = 1_000
_CARD_HINT = 'write {"name": ..., "description": ..., "url": ..., "skills": [...]}'
_SERVER_SCHEMA = "server.schema.json"
# How the packages of each registry are started, for the reader; nothing is started by this.
_STARTERS = {"npm": "npx", "pypi": "uvx", "oci": "docker run", "nuget": "dnx"}


@catch_refusal
def load_agent_card(file: FoundFile, data: bytes) -> LoadedFile:
    """The agent of an A2A card, and a capability for each of its skills. Format: Agent2Agent
    protocol, versions 0.2 to 1.0, `AgentCard`.
    """
    text, value = accept(read_export(data, file.path))
    if not isinstance(value, dict) or not read_text_field(value, "name"):
        refuse(file, "agent-card-shape", "is not an agent card: it has no name", _CARD_HINT)
    agent = (
        plain_part(file.name)
        or plain_part(read_text_field(value, "name")).lower()
        or folder_of(file)
    )
    drafts = _draft_agent_skills(file, text, value, agent)
    return merge_drafts([_draft_agent(value, agent), *drafts], file, mark_finding(data, file.path))


def _draft_agent(card: Mapping[str, Json], agent: str) -> CapabilityDraft:
    name = one_line(read_text_field(card, "name"), 120)
    short, content = split_lead(read_text_field(card, "description") or f"The agent {name}.")
    skills = card.get("skills")
    fields: dict[str, Json] = {
        "kind": "agent",
        "name": agent,
        "title": name,
        "category": agent,
        "description": short,
        "usageHint": "delegate to this agent over A2A",
    }
    if content:
        fields["content"] = content
    extra: dict[str, Json] = {
        "type": "a2a",
        "url": _agent_url(card),
        "version": read_text_field(card, "version"),
        "skills": len(skills) if isinstance(skills, list) else 0,
    }
    return CapabilityDraft(fields=fields, line=1, prefix="agent:", extra=extra)


def _agent_url(card: Mapping[str, Json]) -> str:
    """The address of the agent: its own until version 0.3, of its first interface in 1.0."""
    interfaces = card.get("supportedInterfaces", card.get("additionalInterfaces"))
    first = interfaces[0] if isinstance(interfaces, list) and interfaces else {}
    return read_text_field(card, "url") or (
        read_text_field(first, "url") if isinstance(first, dict) else ""
    )


def _draft_agent_skills(
    file: FoundFile, text: str, card: Mapping[str, Json], agent: str
) -> Iterator[CapabilityDraft | Finding]:
    entries = card.get("skills")
    skills = entries[:_MAX_SKILLS] if isinstance(entries, list) else []
    names = [read_text_field(skill, "name") if isinstance(skill, dict) else "" for skill in skills]
    taken_names: set[str] = set()
    for skill, line in zip(skills, named_lines(text, names), strict=True):
        if not isinstance(skill, dict):
            continue
        name = plain_part(read_text_field(skill, "id") or read_text_field(skill, "name"))
        if not name or name.casefold() in taken_names:
            message = "a skill of the card has no id or name, or that of another; not read"
            hint = "give each skill an id of its own"
            yield file_finding(file, Severity.WARNING, "agent-card-shape", message, hint, line)
        elif is_wanted(name, file.options):
            taken_names.add(name.casefold())
            yield _draft_agent_skill(skill, agent, name, line)


def _draft_agent_skill(
    skill: Mapping[str, Json], agent: str, name: str, line: int
) -> CapabilityDraft:
    title = one_line(read_text_field(skill, "name"), 120)
    short, content = split_lead(read_text_field(skill, "description") or title or name)
    fields: dict[str, Json] = {
        "kind": "agent",
        "name": name,
        "title": title or name,
        "category": agent,
        "description": short,
        "tags": _texts(skill, "tags"),
        "phrases": _texts(skill, "examples"),
        "requires": [f"agent:{agent}"],
        "usageHint": f"a skill of the agent {agent}: send it the request",
    }
    if content:
        fields["content"] = content
    return CapabilityDraft(
        fields=fields, line=line, prefix=f"agent:{agent}.", extra={"agent": agent}
    )


@catch_refusal
def load_server_card(file: FoundFile, data: bytes) -> LoadedFile:
    """The MCP server that a `server.json` of the MCP registry describes; nothing of another file
    with this common name.
    """
    export = read_export(data, file.path)
    value = None if isinstance(export, Finding) else export[1]
    card = value if isinstance(value, dict) and _is_server_card(value) else None
    if card is None and file.is_declared:
        accept(export)
        hint = 'it has "name": "NAMESPACE/SERVER", "description", and "packages" or "remotes"'
        refuse(file, "server-card-shape", "is not a server.json of the MCP registry", hint)
    drafts = [_draft_server(card)] if card else []
    return merge_drafts(drafts, file, mark_finding(data, file.path) if card else ())


def _is_server_card(value: Mapping[str, Json]) -> bool:
    has_places = isinstance(value.get("packages"), list) or isinstance(value.get("remotes"), list)
    is_marked = _SERVER_SCHEMA in read_text_field(value, "$schema")
    return bool(read_text_field(value, "name")) and (
        is_marked or (has_places and "/" in read_text_field(value, "name"))
    )


def _draft_server(card: Mapping[str, Json]) -> CapabilityDraft:
    full_name = read_text_field(card, "name")
    name = plain_part(full_name.rpartition("/")[2]) or plain_part(full_name) or "server"
    packages = [entry for entry in _list(card, "packages") if isinstance(entry, dict)]
    remotes = [entry for entry in _list(card, "remotes") if isinstance(entry, dict)]
    short, content = split_lead(
        read_text_field(card, "description") or f"The MCP server {full_name}."
    )
    starts = [_start_line(package) for package in packages]
    fields: dict[str, Json] = {
        "kind": "server",
        "name": name,
        "title": one_line(read_text_field(card, "title"), 120) or one_line(full_name, 120),
        "category": "mcp-servers",
        "description": short,
        "requiredSecrets": _required_secrets(packages),
        "usageHint": one_line(
            "; ".join([*starts, *(read_text_field(entry, "url") for entry in remotes)]), 200
        ),
    }
    if content:
        fields["content"] = content
    extra: dict[str, Json] = {
        "type": "mcp-server",
        "server": full_name,
        "version": read_text_field(card, "version"),
        "url": read_text_field(remotes[0], "url") if remotes else "",
    }
    return CapabilityDraft(fields=fields, line=1, prefix="server:", extra=extra)


def _start_line(package: Mapping[str, Json]) -> str:
    registry = read_text_field(package, "registryType") or read_text_field(
        package, "registry_type"
    )
    starter = read_text_field(package, "runtimeHint") or _STARTERS.get(registry, registry)
    return f"{starter} {read_text_field(package, 'identifier')}".strip()


def _required_secrets(packages: list[dict[str, Json]]) -> list[Json]:
    """The variables that a server cannot start without, by name."""
    variables = (
        variable
        for package in packages
        for variable in _list(package, "environmentVariables")
        if isinstance(variable, dict) and variable.get("isRequired") is True
    )
    names = (read_text_field(variable, "name") for variable in variables)
    return list(dict.fromkeys(name for name in names if is_secret_name(name)))


def _list(table: Mapping[str, Json], key: str) -> list[Json]:
    value = table.get(key)
    return value if isinstance(value, list) else []


def _texts(table: Mapping[str, Json], key: str) -> list[Json]:
    return [one_line(entry, 300) for entry in _list(table, key) if isinstance(entry, str)]
