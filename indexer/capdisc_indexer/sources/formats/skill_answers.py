"""Answers of an MCP server about the skills that it publishes (`skills/list` and `resources/read`
of the skills extension, SEP-2640): what is in them, and how they are kept.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import quote, unquote

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources.readers.json_reader import read_json
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.text.normalization import compile_late

EXTENSION = "io.modelcontextprotocol/skills"
SKILL_FILE = "SKILL.md"
# What the extension allows for one skill, and the largest SKILL.md that is read anywhere.
MAX_SKILL_FILES = 512
MAX_SKILL_BYTES = 16 * 1024 * 1024
MAX_TEXT_BYTES = 1024 * 1024
# All that is kept of a server: its tools, and its skills with their texts.
MAX_ANSWER_BYTES = 32 * 1024 * 1024
# Where a kept list of a server's tools has the answers about its skills.
PAGES_KEY = "skill_pages"
_SCHEME = compile_late(r"([a-z][a-z0-9+.-]*)://(.+)", re.DOTALL)
# Addresses of something that is not the server's own.
_FOREIGN_SCHEMES = frozenset({"http", "https", "ftp", "file", "data"})
_NOT_IN_PART = compile_late(r"[/\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST_URI = 2_048
_MAX_ANSWER_DEPTH = 6
_LONGEST_ENTRY, _MAX_ENTRY_DEPTH = 256 * 1024, 24
_CHANGED_BY_JSON = compile_late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

# One skill, unchecked: {"uri", "frontmatter", "resources": [{"uri", "digest", "size"}]}.
Entry: TypeAlias = Mapping[str, Json]


@frozen(kw_only=True)
class SkillAnswers:
    """What a server said of its skills: the entries of `skills/list`, and by URI the texts of
    their SKILL.md, or why one could not be read. `list_problem` says why the list is not whole.
    """

    entries: Sequence[Entry] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    list_problem: str = ""


def collect_answers(value: Json) -> SkillAnswers:
    """The skills in an answer, in a list of answers, or in their JSON-RPC envelopes.

    >>> collect_answers([{"result": {"skills": [{}]}}, {"contents": [{"uri": "u", "text": "t"}]}]).texts
    {'u': 't'}
    """
    entries: list[Entry] = []
    texts: dict[str, str] = {}
    problems: dict[str, str] = {}
    list_problem = ""
    for answer in _answers(value, 0):
        if isinstance(skills := answer.get("skills"), list):
            entries += [entry if isinstance(entry, dict) else {} for entry in skills]
        if isinstance(problem := answer.get("problem"), str):
            list_problem = problem
        contents = answer.get("contents")
        for content in contents if isinstance(contents, list) else ():
            if isinstance(content, dict) and isinstance(uri := content.get("uri"), str):
                if (text := read_content(content)) is not None:
                    texts[uri] = text
                elif isinstance(reason := content.get("problem"), str):
                    problems[uri] = reason
    return SkillAnswers(entries=entries, texts=texts, problems=problems, list_problem=list_problem)


def _answers(value: Json, depth: int) -> Iterator[dict[str, Json]]:
    if depth > _MAX_ANSWER_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _answers(item, depth + 1)
    elif isinstance(value, dict):
        yield value
        for key in ("result", PAGES_KEY):
            yield from _answers(value.get(key), depth + 1)


def read_content(content: Mapping[str, Json]) -> str | None:
    """The text of a resource as `resources/read` gives it; that of a blob if it is in UTF-8."""
    text, blob = content.get("text"), content.get("blob")
    if isinstance(text, str):
        return text
    try:
        return (
            base64.b64decode(blob, validate=True).decode("utf-8")
            if isinstance(blob, str)
            else None
        )
    except ValueError:
        return None


def keep_content(uri: str, text: str) -> dict[str, Json]:
    """A text as a kept answer has it, from which it is read with the same bytes: as a blob where
    the reader of JSON would change line ends, or refuse a control character.
    """
    if not _CHANGED_BY_JSON.search(text):
        return {"uri": uri, "text": text}
    data = text.encode("utf-8", "surrogatepass")
    return {"uri": uri, "blob": base64.b64encode(data).decode("ascii")}


def keep_entry(entry: Json) -> Json:
    """An entry as a kept answer has it: its URI alone where a reader of JSON would refuse it, so
    that it costs no other one.
    """
    encoded = json.dumps(entry)
    is_short = len(encoded) <= _LONGEST_ENTRY
    if is_short and not isinstance(read_json(encoded, max_depth=_MAX_ENTRY_DEPTH), Finding):
        return entry
    return {"uri": uri_of(entry) if is_skill_uri(uri_of(entry)) else ""}


def is_skill_answer(value: Mapping[str, Json]) -> bool:
    """Whether the JSON answers `skills/list` or `resources/read`, bare or in an envelope."""
    result = value.get("result")
    answer = result if isinstance(result, dict) else value
    is_page = any(isinstance(answer.get(key), list) for key in ("skills", "contents"))
    return "name" not in answer and (is_page or answer.keys() == {"problem"})


# The addresses of skills and their files.


def uri_of(entry: Json | Entry) -> str:
    """The URI of an entry, or of a file that it lists; "" where it has none."""
    uri = entry.get("uri") if isinstance(entry, Mapping) else None
    return uri if isinstance(uri, str) else ""


def split_skill_uri(uri: str) -> tuple[str, ...] | None:
    """The parts of a resource's path behind its scheme; None for a URI of another place than its
    server, or with parts that lead upwards.

    >>> split_skill_uri("skill://acme/pdf/SKILL.md"), split_skill_uri("file:///etc/passwd")
    (('acme', 'pdf', 'SKILL.md'), None)
    """
    match = _SCHEME.fullmatch(uri) if len(uri) <= _LONGEST_URI else None
    if match is None or match[1] in _FOREIGN_SCHEMES:
        return None
    parts = tuple(unquote(part) for part in match[2].split("/"))
    is_plain = all(part not in ("", ".", "..") and not _NOT_IN_PART.search(part) for part in parts)
    return parts if is_plain and "?" not in match[2] and "#" not in match[2] else None


def is_skill_uri(uri: object) -> bool:
    """Whether this is the URI of a SKILL.md that its server may be asked for."""
    parts = split_skill_uri(uri) if isinstance(uri, str) else None
    return parts is not None and len(parts) > 1 and parts[-1] == SKILL_FILE


# The documents of drafts of the extension, which servers still have.

DRAFT_INDEX = "skill://index.json"
_MANIFEST = "/_manifest"


def is_draft_document(uri: str) -> bool:
    """Whether this resource lists skills, or files of one, as drafts of the extension did."""
    return uri == DRAFT_INDEX or (uri.startswith("skill://") and uri.endswith(_MANIFEST))


def read_draft_document(uri: str, text: str) -> list[JsonObject]:
    """The entries of a document of the drafts, as `draft` entries: their front matter is only the
    name, their files may lack sizes. Empty for any other text.

    >>> read_draft_document("skill://pdf/_manifest", '{"files": []}')[0]["uri"]
    'skill://pdf/SKILL.md'
    """
    value = read_json(text)
    if isinstance(value, Finding) or not isinstance(value, dict):
        return []
    if uri == DRAFT_INDEX:
        skills = value.get("skills")
        return [
            _index_entry(skill)
            for skill in (skills if isinstance(skills, list) else ())
            if isinstance(skill, dict) and skill.get("type", "skill-md") == "skill-md"
        ]
    base = uri.removesuffix(_MANIFEST)
    files = value.get("files")
    resources = [
        {
            "uri": f"{base}/{quote(str(file.get('path')))}",
            "digest": file.get("hash"),
            "size": file.get("size"),
        }
        for file in (files if isinstance(files, list) else ())
        if isinstance(file, dict)
    ]
    name = unquote(base.rpartition("/")[2])
    return [_draft_entry(f"{base}/{SKILL_FILE}", name, resources)]


def _index_entry(skill: Mapping[str, Json]) -> JsonObject:
    uri, digest = skill.get("url"), skill.get("digest")
    resources = [{"uri": uri, "digest": digest}] if digest is not None else "dynamic"
    return _draft_entry(uri, skill.get("name"), resources)


def _draft_entry(uri: Json, name: Json, resources: object) -> JsonObject:
    return {"uri": uri, "frontmatter": {"name": name}, "resources": resources, "draft": True}
