"""OpenAPI 3.0 and 3.1 and Swagger 2 documents, in JSON or YAML: an API and each of its operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from capdisc_indexer.sources.decoding import decode, mark_finding
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.made import noted
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.sources.openapi.api import api_name, api_of
from capdisc_indexer.sources.openapi.document import Document, read
from capdisc_indexer.sources.openapi.operation import operation_of
from capdisc_indexer.sources.selecting import is_wanted
from capdisc_indexer.sources.shaped import Made, merged
from capdisc_indexer.types import Finding, Loaded, Severity

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
MAX_OPERATIONS = 5_000


def load(file: FoundFile, data: bytes) -> Loaded:
    """The API with its operations; what is wrong with one of them costs the others nothing."""
    text = decode(data, file.path)
    document = text if isinstance(text, Finding) else read(text, file)
    if isinstance(document, Finding):
        return Loaded(findings=(document,))
    loaded = merged(_made(file, document), file, mark_finding(data, file.path))
    lost = _lost(file, document)
    return Loaded(descriptors=loaded.descriptors, findings=(*loaded.findings, *lost), parts=loaded.parts)


def _made(file: FoundFile, document: Document) -> Iterator[Made | Finding]:
    api = api_name(file, document)
    count, names = 0, dict[str, int]()
    made: list[Made | Finding] = []
    for path, method, item, operation in _operations(document):
        count += 1
        one = operation_of(file, document, api, path, method, item, operation)
        name = str(one.fields["name"])
        if count > MAX_OPERATIONS or not is_wanted(name, file.options):
            continue
        if name.casefold() in names:
            yield _twice(file, name, names[name.casefold()], one.line)
        else:
            names[name.casefold()] = one.line
            made.append(one)
    yield api_of(file, document, api, count)
    yield from made
    if count > MAX_OPERATIONS:
        message = f"the API has {count:,} operations; the first {MAX_OPERATIONS:,} are read"
        yield noted(file, Severity.WARNING, "too-many-items", message, "split the document, or declare include = [...]")


def _operations(document: Document) -> Iterator[tuple[str, str, Mapping[str, Json], Mapping[str, Json]]]:
    """Each operation with its path, its method and what its path says for all methods."""
    for path, declared in document.table("paths").items():
        item = document.followed(declared)
        for method in METHODS if item else ():
            if isinstance(operation := (item or {}).get(method), dict):
                yield path, method, item or {}, operation


def _twice(file: FoundFile, name: str, first: int, line: int) -> Finding:
    message = f"the operation {name[:64]} stands in line {first} already; not read"
    return noted(file, Severity.WARNING, "duplicate-id", message, "give each operation an operationId of its own", line)


def _lost(file: FoundFile, document: Document) -> tuple[Finding, ...]:
    """What references name that is not in the document: other files and hosts are never read."""
    if not document.lost:
        return ()
    shown = ", ".join(each[:80] for each in sorted(document.lost)[:3])
    message = f"{len(document.lost)} references lead to nothing in this document: {shown}"
    return (noted(file, Severity.WARNING, "openapi-reference", message, "bundle the document into one file"),)
