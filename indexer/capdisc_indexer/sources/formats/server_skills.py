"""Skills that an MCP server publishes by the skills extension of the protocol (SEP-2640): its
answers to `skills/list` and `resources/read`, as capabilities.

A digest says that a text is the one of its entry, and not that anybody may be believed: the text
is that of the server, whose name is part of the skill's id.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from capdisc_indexer.model.frozen import field, frozen, replace
from capdisc_indexer.model.types import Descriptor, LoadedFile, Severity
from capdisc_indexer.sources.formats import skill
from capdisc_indexer.sources.formats.parsed_capability import LongText, file_finding
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import Json, MapNode, as_written, to_json
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash, source_ref
from capdisc_indexer.text.normalization import one_line

SKILL_FILE = "SKILL.md"
# What the extension allows for one skill, and the largest SKILL.md that is read anywhere.
MAX_SKILL_FILES = 512
MAX_SKILL_BYTES = 16 * 1024 * 1024
MAX_TEXT_BYTES = 1024 * 1024
DYNAMIC = "dynamic"
_ASK_HINT = "run: capdisc index --ask-servers"
_SERVER_HINT = "tell the author of the server; everything else of it is indexed"
# The names that the Agent Skills format allows.
SKILL_NAME = re.compile(r"(?!-)(?!.*--)[a-z0-9-]{1,64}(?<!-)")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://(.+)", re.DOTALL)
# Addresses of something that is not the server's own.
_FOREIGN_SCHEMES = frozenset({"http", "https", "ftp", "file", "data"})
_LONGEST_URI = 2_048
_MAX_ANSWER_DEPTH = 6


@frozen(kw_only=True)
class SkillAnswers:
    """What a server said of its skills: the entries of `skills/list`, and by URI the texts of
    their SKILL.md, or why one could not be read.
    """

    entries: Sequence[Json] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)


def collect_answers(value: Json) -> SkillAnswers:
    """The skills in an answer, in a list of answers, or in their JSON-RPC envelopes.

    >>> collect_answers([{"result": {"skills": [1]}}, {"contents": [{"uri": "u", "text": "t"}]}]).texts
    {'u': 't'}
    """
    entries: list[Json] = []
    texts: dict[str, str] = {}
    problems: dict[str, str] = {}
    for answer in _answers(value, 0):
        if isinstance(skills := answer.get("skills"), list):
            entries += skills
        contents = answer.get("contents")
        for content in contents if isinstance(contents, list) else ():
            if isinstance(content, dict) and isinstance(uri := content.get("uri"), str):
                if isinstance(text := content.get("text"), str):
                    texts[uri] = text
                elif isinstance(problem := content.get("problem"), str):
                    problems[uri] = problem
    return SkillAnswers(entries=entries, texts=texts, problems=problems)


def _answers(value: Json, depth: int) -> Iterator[dict[str, Json]]:
    if depth > _MAX_ANSWER_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _answers(item, depth + 1)
    elif isinstance(value, dict):
        yield value
        if "result" in value:
            yield from _answers(value["result"], depth + 1)


def load_skills(file: FoundFile, answers: SkillAnswers, server: str) -> LoadedFile:
    """The skills of a server, and a warning for each that is left out: its URI or its list of files
    is none of a skill, its text was not read, or is not the one that the entry describes.
    """
    names = Counter(
        path.rpartition("/")[2]
        for entry in answers.entries
        if isinstance(path := _skill_path(entry), str)
    )
    results: list[LoadedFile] = []
    seen: set[str] = set()
    for entry in answers.entries:
        path = _skill_path(entry)
        problem = path if isinstance(path, SkillProblem) else _manifest_problem(entry)
        if problem is None and str(path) in seen:
            problem = _entry_problem("it is listed twice")
        uri = _uri(entry)
        if problem is None:
            seen.add(str(path))
            loaded = _load_skill(file, entry, str(path), answers, server, names)
            if isinstance(loaded, LoadedFile):
                results.append(loaded)
                continue
            problem = loaded
        message = f"the skill {one_line(uri, 120) or '?'} of {server} is not indexed: "
        finding = file_finding(
            file, Severity.WARNING, problem.code, message + problem.message, problem.hint
        )
        results.append(LoadedFile(findings=(finding,)))
    return LoadedFile(
        descriptors=tuple(skill for result in results for skill in result.descriptors),
        findings=tuple(finding for result in results for finding in result.findings),
        parts=tuple(part for result in results for part in result.parts),
    )


@frozen(kw_only=True)
class SkillProblem:
    """Why a skill is left out: the code of the finding, and the end of its message."""

    code: str
    message: str
    hint: str


def _entry_problem(message: str) -> SkillProblem:
    return SkillProblem(code="skill-entry", message=message, hint=_SERVER_HINT)


def _unverified(message: str) -> SkillProblem:
    hint = f"{_ASK_HINT}; if it stays so, {_SERVER_HINT}"
    return SkillProblem(code="skill-unverified", message=message, hint=hint)


# The entry.


def _uri(entry: Json) -> str:
    uri = entry.get("uri") if isinstance(entry, dict) else None
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
    is_plain = all(
        part not in ("", ".", "..") and not re.search(r"[/\\\x00-\x1f]", part) for part in parts
    )
    return parts if is_plain and "?" not in match[2] and "#" not in match[2] else None


def _skill_path(entry: Json) -> str | SkillProblem:
    """The path of the skill of an entry, which ends in its name."""
    parts = split_skill_uri(_uri(entry))
    if parts is None or len(parts) < 2 or parts[-1] != SKILL_FILE:
        return _entry_problem("its URI is not that of a SKILL.md at this server")
    frontmatter = entry.get("frontmatter") if isinstance(entry, dict) else None
    name = frontmatter.get("name") if isinstance(frontmatter, dict) else None
    if not isinstance(name, str) or not SKILL_NAME.fullmatch(name):
        return _entry_problem("it has no name that a skill may have")
    if parts[-2] != name:
        return _entry_problem(f"its URI does not end in its name {name}")
    return "/".join(parts[:-1])


def _manifest_problem(entry: Json) -> SkillProblem | None:
    resources = entry.get("resources") if isinstance(entry, dict) else None
    if resources == DYNAMIC:
        return None
    if not isinstance(resources, list):
        return _entry_problem("its entry lists no files")
    message = next(_file_problems(resources, _uri(entry)), "")
    return _entry_problem(message) if message else None


def _file_problems(resources: Sequence[Json], skill_uri: str) -> Iterator[str]:
    """What is wrong with the files that an entry lists."""
    if len(resources) > MAX_SKILL_FILES:
        yield f"it has more than {MAX_SKILL_FILES} files"
    folder = (split_skill_uri(skill_uri) or ("",))[:-1]
    seen: set[str] = set()
    total_bytes = 0
    for resource in resources:
        uri = _uri(resource)
        size, digest = (
            (resource.get("size"), resource.get("digest"))
            if isinstance(resource, dict)
            else (None, None)
        )
        shown, parts = one_line(uri, 120), split_skill_uri(uri)
        is_inside = parts is not None and parts[: len(folder)] == folder < parts
        if not is_inside or uri.partition(":")[0] != skill_uri.partition(":")[0]:
            yield f"it lists a file that lies elsewhere: {shown or 'one without a URI'}"
        if uri in seen:
            yield f"it lists a file twice: {shown}"
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            yield f"a file has no SHA-256 digest: {shown}"
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            yield f"a file has no size: {shown}"
        else:
            total_bytes += size
        seen.add(uri)
    if skill_uri not in seen:
        yield f"its list of files lacks its {SKILL_FILE}"
    if total_bytes > MAX_SKILL_BYTES:
        yield "its files have more than 16 MiB"


# The text.


def _load_skill(
    file: FoundFile,
    entry: Json,
    path: str,
    answers: SkillAnswers,
    server: str,
    names: Mapping[str, int],
) -> LoadedFile | SkillProblem:
    uri = _uri(entry)
    text = answers.texts.get(uri)
    if text is None:
        reason = one_line(answers.problems.get(uri, "its text was not read"), 300)
        return SkillProblem(code="skill-unread", message=reason, hint=_ASK_HINT)
    data = text.encode("utf-8", "surrogatepass")
    if problem := _text_problem(entry, uri, text, data):
        return problem
    loaded = skill.load(file, data)
    if not loaded.descriptors:
        errors = [finding for finding in loaded.findings if finding.severity is Severity.ERROR]
        reason = errors[0].message if errors else "it is no skill"
        return SkillProblem(code="skill-unread", message=one_line(reason, 300), hint=_SERVER_HINT)
    name = path.rpartition("/")[2]
    full_name = name if names[name] == 1 else path.replace("/", ".")
    descriptor = replace(
        loaded.descriptors[0],
        id=f"skill:{server}.{full_name}",
        category=loaded.descriptors[0].category or server,
        source=source_ref(file, content_hash(data), uri),
        extra=_extra(loaded.descriptors[0], entry, uri, server),
    )
    long = LongText(value=descriptor.content, path=file.path, in_place=True)
    part = replace(loaded.parts[0], descriptor=descriptor, longs=(long,) if long.value else ())
    return LoadedFile(descriptors=(descriptor,), parts=(part,))


def _extra(descriptor: Descriptor, entry: Json, uri: str, server: str) -> dict[str, Json]:
    """The further fields. `allowed-tools` is left out: it is a wish of the server, and nobody here
    has granted it.
    """
    extra: dict[str, Json] = {
        key: value for key, value in descriptor.extra.items() if key != "allowed-tools"
    }
    base = uri.removesuffix(SKILL_FILE)
    resources = entry.get("resources") if isinstance(entry, dict) else None
    listed = resources if isinstance(resources, list) else []
    files = sorted(unquote(_uri(resource).removeprefix(base)) for resource in listed)
    extra |= {"server": server, "uri": uri}
    if len(files) > 1:
        extra["files"] = [name for name in files if name != SKILL_FILE]
    return extra


def _text_problem(entry: Json, uri: str, text: str, data: bytes) -> SkillProblem | None:
    """Why the text is not used, None for one that is."""
    if len(data) > MAX_TEXT_BYTES:
        return SkillProblem(
            code="skill-unread", message="its text is larger than 1 MiB", hint=_SERVER_HINT
        )
    resources = entry.get("resources") if isinstance(entry, dict) else None
    for resource in resources if isinstance(resources, list) else ():
        if isinstance(resource, dict) and resource.get("uri") == uri:
            if resource["size"] != len(data):
                return _unverified("its text has another size than its entry says")
            if resource["digest"] != f"sha256:{hashlib.sha256(data).hexdigest()}":
                return _unverified("its text has another digest than its entry says")
    node = read_front_matter(text)
    if isinstance(node, str):
        return SkillProblem(code="skill-unread", message=node, hint=_SERVER_HINT)
    frontmatter = entry.get("frontmatter") if isinstance(entry, dict) else None
    if frontmatter not in (to_json(node), as_written(node)):
        return _unverified("its entry has another front matter than its text")
    return None


# The format.


def read_front_matter(text: str) -> MapNode | str:
    """The fields of a SKILL.md that every reader of YAML understands, or why there are none."""
    halves = split_front_matter(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if halves.block is None:
        return "it has no front matter"
    result = read_yaml(halves.block)
    if result.finding:
        return f"its front matter is not YAML: {result.finding.message}"
    node = result.documents[0] if len(result.documents) == 1 else None
    return node if isinstance(node, MapNode) else "its front matter is no mapping of fields"


def read_conforming_fields(text: str) -> dict[str, Json] | str:
    """The front matter of a SKILL.md as JSON where it follows the Agent Skills format, else what in
    it does not.
    """
    node = read_front_matter(text)
    value = node if isinstance(node, str) else to_json(node)
    if not isinstance(value, dict):
        return str(value)
    return next(_format_problems(value), "") or value


def _format_problems(fields: Mapping[str, Json]) -> Iterator[str]:
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not SKILL_NAME.fullmatch(name):
        yield "its name is not one that the format allows"
    if not isinstance(description, str) or not 0 < len(description.strip()) <= 1_024:
        yield "its description is missing, or has more than 1,024 characters"
    for key in ("license", "allowed-tools", "compatibility"):
        if key in fields and not isinstance(fields[key], str):
            yield f"the field {key} is no text"
    if len(str(fields.get("compatibility", ""))) > 500:
        yield "the field compatibility has more than 500 characters"
    metadata = fields.get("metadata", {})
    if not isinstance(metadata, dict) or not all(
        isinstance(inner, str) for inner in metadata.values()
    ):
        yield "the field metadata holds values that are no text"
