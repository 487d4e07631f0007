"""OpenAPI 3.0 and 3.1 and Swagger 2 documents, in JSON or YAML: an API and each of its
operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.catalogue import is_wanted
from capdisc_indexer.sources.formats.derived_capability import file_finding
from capdisc_indexer.sources.formats.manifest_adapter import CapabilityDraft, merge_drafts
from capdisc_indexer.sources.formats.openapi.api import ApiDocument, api_name, api_of, read_document
from capdisc_indexer.sources.formats.openapi.operation import operation_of
from capdisc_indexer.sources.readers.text_decoding import decode, mark_finding
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile

HTTP_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
MAX_OPERATIONS = 5_000


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The API with its operations; what is wrong with one of them costs the others nothing."""
    text = decode(data, file.path)
    document = text if isinstance(text, Finding) else read_document(text, file)
    if isinstance(document, Finding):
        return LoadedFile(findings=(document,))
    loaded = merge_drafts(_draft_operations(file, document), file, mark_finding(data, file.path))
    unresolved = _warn_of_missing_references(file, document)
    return LoadedFile(
        descriptors=loaded.descriptors, findings=(*loaded.findings, *unresolved), parts=loaded.parts
    )


def _draft_operations(
    file: FoundFile, document: ApiDocument
) -> Iterator[CapabilityDraft | Finding]:
    api = api_name(file, document)
    count, names = 0, dict[str, int]()
    drafts: list[CapabilityDraft | Finding] = []
    for path, method, item, operation in _operations(document):
        count += 1
        draft = operation_of(file, document, api, path, method, item, operation)
        name = str(draft.fields["name"])
        if count > MAX_OPERATIONS or not is_wanted(name, file.options):
            continue
        if name.casefold() in names:
            yield _twice(file, name, names[name.casefold()], draft.line)
        else:
            names[name.casefold()] = draft.line
            drafts.append(draft)
    yield api_of(file, document, api, count)
    yield from drafts
    if count > MAX_OPERATIONS:
        message = f"the API has {count:,} operations; the first {MAX_OPERATIONS:,} are read"
        yield file_finding(
            file,
            Severity.WARNING,
            "too-many-items",
            message,
            "split the document, or declare include = [...]",
        )


def _operations(
    document: ApiDocument,
) -> Iterator[tuple[str, str, Mapping[str, Json], Mapping[str, Json]]]:
    """Each operation with its path, its method and what its path says for all methods."""
    for path, declared in document.table("paths").items():
        item = document.resolve(declared)
        for method in HTTP_METHODS if item else ():
            if isinstance(operation := (item or {}).get(method), dict):
                yield path, method, item or {}, operation


def _twice(file: FoundFile, name: str, first: int, line: int) -> Finding:
    message = f"the operation {name[:64]} stands in line {first} already; not read"
    return file_finding(
        file,
        Severity.WARNING,
        "duplicate-id",
        message,
        "give each operation an operationId of its own",
        line,
    )


def _warn_of_missing_references(file: FoundFile, document: ApiDocument) -> tuple[Finding, ...]:
    """What references name that is not in the document: other files and hosts are never read."""
    if not document.lost:
        return ()
    shown = ", ".join(reference[:80] for reference in sorted(document.lost)[:3])
    message = f"{len(document.lost)} references lead to nothing in this document: {shown}"
    return (
        file_finding(
            file,
            Severity.WARNING,
            "openapi-reference",
            message,
            "bundle the document into one file",
        ),
    )
