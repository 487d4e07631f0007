"""OpenAPI 3.0 and 3.1 and Swagger 2 documents, in JSON or YAML: an API and each of its
operations.
"""

from __future__ import annotations

from collections.abc import Iterator

from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.derived_capability import file_finding
from capdisc_indexer.sources.formats.manifest_adapter import (
    CapabilityDraft,
    is_wanted,
    merge_drafts,
)
from capdisc_indexer.sources.formats.openapi.api import (
    ApiDocument,
    Operation,
    api_name,
    draft_api,
    read_document,
)
from capdisc_indexer.sources.formats.openapi.operation import draft_operation
from capdisc_indexer.sources.readers.text_decoding import decode, mark_finding
from capdisc_indexer.sources.scan.scanned_files import FoundFile

HTTP_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
MAX_OPERATIONS = 5_000


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The API with its operations; an error in one of them costs the others nothing."""
    text = decode(data, file.path)
    document = text if isinstance(text, Finding) else read_document(text, file)
    if isinstance(document, Finding):
        return LoadedFile(findings=(document,))
    loaded = merge_drafts(_draft_operations(file, document), file, mark_finding(data, file.path))
    unresolved = _warn_of_missing_references(file, document)
    return LoadedFile(
        descriptors=loaded.descriptors,
        findings=(*loaded.findings, *unresolved),
        parts=loaded.parts,
    )


def _draft_operations(
    file: FoundFile, document: ApiDocument
) -> Iterator[CapabilityDraft | Finding]:
    api = api_name(file, document)
    count, names = 0, dict[str, int]()
    drafts: list[CapabilityDraft | Finding] = []
    for operation in _operations(document):
        count += 1
        draft = draft_operation(file, document, api, operation)
        name = str(draft.fields["name"])
        if count > MAX_OPERATIONS or not is_wanted(name, file.options):
            continue
        if name.casefold() in names:
            yield _duplicate_operation(file, name, names[name.casefold()], draft.line)
        else:
            names[name.casefold()] = draft.line
            drafts.append(draft)
    yield draft_api(file, document, api, count)
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


def _operations(document: ApiDocument) -> Iterator[Operation]:
    for path, declared in document.table("paths").items():
        path_item = document.resolve(declared)
        for method in HTTP_METHODS if path_item else ():
            if path_item and isinstance(fields := path_item.get(method), dict):
                yield Operation(path=path, method=method, fields=fields, path_item=path_item)


def _duplicate_operation(file: FoundFile, name: str, first_line: int, line: int) -> Finding:
    message = f"the operation {name[:64]} stands in line {first_line} already; not read"
    return file_finding(
        file,
        Severity.WARNING,
        "duplicate-id",
        message,
        "give each operation an operationId of its own",
        line,
    )


def _warn_of_missing_references(file: FoundFile, document: ApiDocument) -> tuple[Finding, ...]:
    """The references to nothing in the document: other files and hosts are never read."""
    missing = document.missing_references
    if not missing:
        return ()
    shown = ", ".join(reference[:80] for reference in sorted(missing)[:3])
    message = f"{len(missing)} references lead to nothing in this document: {shown}"
    return (
        file_finding(
            file,
            Severity.WARNING,
            "openapi-reference",
            message,
            "bundle the document into one file",
        ),
    )
