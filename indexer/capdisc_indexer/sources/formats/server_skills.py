"""Skills that an MCP server publishes by the skills extension of the protocol (SEP-2640), as
capabilities.

A digest says that a text is the one of its entry, and not that anybody may be believed: the text
is that of the server, whose name is part of the skill's id.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Descriptor, LoadedFile, Severity
from capdisc_indexer.sources.formats import skill
from capdisc_indexer.sources.formats.catalogue import cap_findings
from capdisc_indexer.sources.formats.parsed_capability import LongText, file_finding, join_loaded
from capdisc_indexer.sources.formats.skill_answers import (
    MAX_SKILL_BYTES,
    MAX_SKILL_FILES,
    MAX_TEXT_BYTES,
    SKILL_FILE,
    Entry,
    SkillAnswers,
    is_skill_uri,
    split_skill_uri,
    uri_of,
)
from capdisc_indexer.sources.readers.yaml_nodes import (
    Json,
    RefusedTextError,
    as_written,
    to_json,
)
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash, source_ref
from capdisc_indexer.text.normalization import one_line

# In the place of the files of a skill whose text its server generates for each reader.
_DYNAMIC = "dynamic"
_ASK_HINT = "run: capdisc index --ask-servers"
_SERVER_HINT = "tell the author of the server; everything else of it is indexed"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def load_skills(file: FoundFile, answers: SkillAnswers, server: str) -> LoadedFile:
    """The skills of a server, and a warning for each that is left out: its URI or its list of
    files is not that of a skill, its text was not read, or is not the one that the entry
    describes.

    Its id is `skill:SERVER.NAME`, or where several have the name `skill:SERVER.PATH.NAME`.
    """
    results: list[LoadedFile] = []
    if answers.list_problem:
        message = f"the skills of {server} are not all known: {answers.list_problem}"
        finding = file_finding(file, Severity.WARNING, "skill-unread", message, _ASK_HINT)
        results.append(LoadedFile(findings=(finding,)))
    names_by_uri = {uri_of(entry): str(_name(entry)) for entry in answers.entries}
    names = Counter(names_by_uri.values())
    seen_uris: set[str] = set()
    for entry in answers.entries:
        uri = uri_of(entry)
        try:
            if uri in seen_uris and uri:
                raise _unindexed("it is listed twice")
            seen_uris.add(uri)
            results.append(_load_skill(file, entry, answers, server, names))
        except RefusedTextError as refused:
            problem, name = refused.finding, one_line(uri, 120) or "?"
            message = f"the skill {name} of {server} is not indexed: {problem.message}"
            finding = file_finding(file, Severity.WARNING, problem.code, message, problem.hint)
            results.append(LoadedFile(findings=(finding,)))
    joined = join_loaded(*results)
    return replace(joined, findings=cap_findings(joined.findings))


def _unindexed(
    message: str, code: str = "skill-entry", hint: str = _SERVER_HINT
) -> RefusedTextError:
    """Why a skill is left out; the message ends the one of its finding."""
    return RefusedTextError(code, message, hint)


def _unread(message: str, hint: str = _SERVER_HINT) -> RefusedTextError:
    return _unindexed(one_line(message, 300), "skill-unread", hint)


def _unverified(message: str) -> RefusedTextError:
    return _unindexed(message, "skill-unverified", f"{_ASK_HINT}; if it stays so, {_SERVER_HINT}")


# The entry.


def _name(entry: Entry) -> Json:
    frontmatter = entry.get("frontmatter")
    return frontmatter.get("name") if isinstance(frontmatter, dict) else None


def _files(entry: Entry) -> Sequence[Json]:
    """The files that the entry lists; none of a dynamic skill."""
    resources = entry.get("resources")
    return resources if isinstance(resources, list) else ()


def _entry_problems(entry: Entry) -> Iterator[str]:
    """What is wrong with an entry before its text is read."""
    uri, name = uri_of(entry), _name(entry)
    parts = split_skill_uri(uri)
    if parts is None or not is_skill_uri(uri):
        yield "its URI is not that of a SKILL.md at this server"
        return
    if not isinstance(name, str) or not skill.SKILL_NAME.fullmatch(name):
        yield "it has no name that a skill may have"
    elif parts[-2] != name:
        yield f"its URI does not end in its name {name}"
    if entry.get("resources") == _DYNAMIC:
        return
    if not isinstance(entry.get("resources"), list):
        yield "its entry lists no files"
    yield from _file_problems(_files(entry), uri, parts[:-1], entry.get("draft") is not True)


def _file_problems(
    files: Sequence[Json], skill_uri: str, folder: tuple[str, ...], has_sizes: bool
) -> Iterator[str]:
    """What is wrong with the files that an entry lists."""
    if len(files) > MAX_SKILL_FILES:
        yield f"it has more than {MAX_SKILL_FILES} files"
    seen_uris: set[str] = set()
    total_bytes = 0
    for listed in files:
        file = listed if isinstance(listed, dict) else {}
        uri, size, digest = uri_of(file), file.get("size"), file.get("digest")
        shown, parts = one_line(uri, 120), split_skill_uri(uri)
        is_inside = parts is not None and parts[: len(folder)] == folder < parts
        if not is_inside or uri.partition(":")[0] != skill_uri.partition(":")[0]:
            yield f"it lists a file that lies elsewhere: {shown or 'one without a URI'}"
        if uri in seen_uris:
            yield f"it lists a file twice: {shown}"
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            yield f"a file has no SHA-256 digest: {shown}"
        if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
            total_bytes += size
        elif has_sizes or size is not None:
            yield f"a file has no size: {shown}"
        seen_uris.add(uri)
    if skill_uri not in seen_uris:
        yield f"its list of files lacks its {SKILL_FILE}"
    if total_bytes > MAX_SKILL_BYTES:
        yield "its files have more than 16 MiB"


# The text.


def _load_skill(
    file: FoundFile, entry: Entry, answers: SkillAnswers, server: str, names: Mapping[str, int]
) -> LoadedFile:
    """The skill of an entry. Raises RefusedTextError where it is left out."""
    uri, name = uri_of(entry), str(_name(entry))
    for problem in _entry_problems(entry):
        raise _unindexed(problem)
    text = answers.texts.get(uri)
    if text is None:
        raise _unread(answers.problems.get(uri, "its text was not read"), _ASK_HINT)
    data = text.encode("utf-8", "surrogatepass")
    _check_text(entry, text, data)
    loaded = skill.load(file, data)
    if not loaded.descriptors:
        errors = [finding for finding in loaded.findings if finding.severity is Severity.ERROR]
        raise _unread(errors[0].message if errors else "it is not a skill")
    written = loaded.descriptors[0]
    path = (split_skill_uri(uri) or ())[:-1]
    descriptor = replace(
        written,
        id=f"skill:{server}.{name if names[name] == 1 else '.'.join(path)}",
        category=written.category or server,
        source=source_ref(file, content_hash(data), uri),
        extra=_extra(written, entry, server),
    )
    long = LongText(value=descriptor.content, path=file.path, in_place=True)
    part = replace(loaded.parts[0], descriptor=descriptor, longs=(long,) if long.value else ())
    return LoadedFile(parts=(part,))


def _extra(written: Descriptor, entry: Entry, server: str) -> dict[str, Json]:
    """The further fields. `allowed-tools` is left out: it is a wish of the server, and nobody here
    has granted it.
    """
    extra: dict[str, Json] = {
        key: value for key, value in written.extra.items() if key != "allowed-tools"
    }
    base = uri_of(entry).removesuffix(SKILL_FILE)
    names = sorted(unquote(uri_of(file).removeprefix(base)) for file in _files(entry))
    extra |= {"server": server, "uri": uri_of(entry)}
    further_files: list[Json] = [name for name in names if name != SKILL_FILE]
    return extra | ({"files": further_files} if further_files else {})


def _check_text(entry: Entry, text: str, data: bytes) -> None:
    """Raises RefusedTextError for a text that is not used. Its digest and size are those of a
    static skill; that of a dynamic one cannot be checked.
    """
    if len(data) > MAX_TEXT_BYTES:
        raise _unread("its text is larger than 1 MiB")
    for file in _files(entry):
        if isinstance(file, dict) and uri_of(file) == uri_of(entry):
            if file.get("size", len(data)) != len(data):
                raise _unverified("its text has another size than its entry says")
            if file["digest"] != f"sha256:{hashlib.sha256(data).hexdigest()}":
                raise _unverified("its text has another digest than its entry says")
    node = skill.read_strict_fields(text)
    if isinstance(node, str):
        raise _unread(node)
    frontmatter, forms = entry.get("frontmatter"), [to_json(node), as_written(node)]
    if entry.get("draft") is True:  # which gave the name alone
        forms = [{"name": form.get("name")} for form in forms if isinstance(form, dict)]
    if frontmatter not in forms:
        raise _unverified("its entry has another front matter than its text")
