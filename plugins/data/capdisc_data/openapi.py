"""OpenAPI 3.0 and 3.1 and Swagger 2 documents, in JSON or YAML: an API and each of its operations,
with the secrets, the output and the request that an operation declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from capdisc_data.api_document import (
    ApiDocument,
    Operation,
    SchemaWriter,
    api_name,
    draft_api,
    list_at,
    read_document,
    server_url,
    table_at,
)
from capdisc_data.operation_inputs import OperationInputs, read_inputs
from capdisc_data.refusals import catch_refusal, text_of
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.manifest_adapter import (
    CapabilityDraft,
    is_wanted,
    merge_drafts,
    read_text_field,
)
from capdisc_indexer.sources.formats.naming_rules import plain_part
from capdisc_indexer.sources.formats.parsed_capability import file_finding, join_loaded
from capdisc_indexer.sources.readers.file_bytes import mark_finding
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line, split_lead

HTTP_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
SAFE_METHODS = frozenset({"get", "head", "options", "trace"})
MAX_OPERATIONS = 5_000
OUTPUT_DEPTH, OUTPUT_NODES = 4, 100
_HOST = re.compile(r"https?://[^/?#{}\s]+")
_NOT_IN_SECRET_NAME = re.compile(r"[^A-Z0-9]+")


@catch_refusal
def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The API with its operations; an error in one of them costs the others nothing."""
    document = read_document(text_of(file, data), file)
    return load_document(file, document, mark_finding(data, file.path))


def load_document(
    file: FoundFile, document: ApiDocument, before: Sequence[Finding] = ()
) -> LoadedFile:
    """The API of a document with its operations; its findings come after those of `before`."""
    loaded = merge_drafts(_draft_operations(file, document), file, before)
    # Known once all operations are read.
    return join_loaded(loaded, LoadedFile(findings=_warn_of_missing_references(file, document)))


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
        hint = "split the document, or declare include = [...]"
        yield file_finding(file, Severity.WARNING, "too-many-items", message, hint)


def _operations(document: ApiDocument) -> Iterator[Operation]:
    for path, declared in table_at(document.value, "paths").items():
        path_item = document.resolve(declared)
        for method in HTTP_METHODS if path_item else ():
            if path_item and isinstance(fields := path_item.get(method), dict):
                yield Operation(path=path, method=method, fields=fields, path_item=path_item)


def _duplicate_operation(file: FoundFile, name: str, first_line: int, line: int) -> Finding:
    message = f"the operation {name[:64]} stands in line {first_line} already; not read"
    hint = "give each operation an operationId of its own"
    return file_finding(file, Severity.WARNING, "duplicate-id", message, hint, line)


def _warn_of_missing_references(file: FoundFile, document: ApiDocument) -> tuple[Finding, ...]:
    """The references to nothing in the document: other files and hosts are never read."""
    missing = document.missing_references
    if not missing:
        return ()
    shown = ", ".join(reference[:80] for reference in sorted(missing)[:3])
    message = f"{len(missing):,} references lead to nothing in this document: {shown}"
    hint = "bundle the document into one file"
    return (file_finding(file, Severity.WARNING, "openapi-reference", message, hint),)


def draft_operation(
    file: FoundFile, document: ApiDocument, api: str, operation: Operation
) -> CapabilityDraft:
    """The operation as a capability, with all that a request of it needs."""
    method, path = operation.method, operation.path
    inputs = read_inputs(document, operation)
    secrets = read_secrets(document, api, operation.fields)
    output = _output_schema(document, operation.fields)
    fields: dict[str, Json] = {
        "kind": "operation",
        "name": _name(operation),
        "category": api,
        "usageHint": one_line(f"{method.upper()} {path}", 200),
        "inputSchema": inputs.schema(),
        "requiredSecrets": list(dict.fromkeys(secret["secret"] for secret in secrets)),
        **_risk(method),
        **_texts(operation),
        **_prerequisites(operation.fields, api),
    }
    if output:
        fields["outputSchema"] = output
    return CapabilityDraft(
        fields=fields,
        line=document.line_of(path, method),
        prefix=f"operation:{api}.",
        run=_request(server_url(file, document) + path, method, inputs, secrets),
        extra=_extra(api, operation, inputs, output),
    )


def read_secrets(
    document: ApiDocument, api: str, operation: Mapping[str, Json]
) -> list[dict[str, Json]]:
    """The secrets that a request needs, by name and never by value, as a request of `capdisc run`
    names them; none if the operation also works without.

    Of several ways to sign in, the first is taken.
    """
    alternatives = operation.get("security", document.value.get("security"))
    if not isinstance(alternatives, list) or any(needed == {} for needed in alternatives):
        return []
    scheme_names = next((needed for needed in alternatives if isinstance(needed, dict)), {})
    schemes = table_at(table_at(document.value, "components"), "securitySchemes")
    placed_secrets = (
        _placed_secret(secret_name(api, name), document.resolve(schemes.get(name)) or {})
        for name in scheme_names
    )
    return [secret for secret in placed_secrets if secret]


def secret_name(api: str, scheme: str) -> str:
    """The name of the environment variable for the secret of a scheme.

    >>> secret_name("tmdb", "api_key"), secret_name("4chan", "key")
    ('TMDB_API_KEY', 'API_4CHAN_KEY')
    """
    name = _NOT_IN_SECRET_NAME.sub("_", f"{api}_{scheme}".upper()).strip("_")
    return (name if name[:1].isalpha() else f"API_{name}")[:128].rstrip("_")


def _placed_secret(secret: str, declared: Mapping[str, Json]) -> dict[str, Json]:
    """The secret with the header or parameter that holds it, and what stands before it there;
    alone where the document does not say where it goes, {} for a scheme that needs none.
    """
    kind, place, name = declared.get("type"), declared.get("in"), declared.get("name")
    if kind == "apiKey" and isinstance(name, str) and place in ("header", "query"):
        return {"secret": secret, "in": place, "name": name, "prefix": ""}
    if kind == "basic" or (kind == "http" and str(declared.get("scheme", "")).lower() == "basic"):
        return {"secret": secret, "in": "header", "name": "Authorization", "prefix": "Basic "}
    return {"secret": secret} if kind in ("oauth2", "openIdConnect", "http") else {}


def _name(operation: Operation) -> str:
    """Its operationId as text that an id can hold, else method and path, such as
    `get-movie-movie_id`.
    """
    return (
        plain_part(read_text_field(operation.fields, "operationId"))
        or plain_part(f"{operation.method} {operation.path}")
        or operation.method
    )


def _texts(operation: Operation) -> dict[str, Json]:
    summary = one_line(read_text_field(operation.fields, "summary"), 200)
    description = read_text_field(operation.fields, "description")
    short, content = split_lead(
        description or summary or f"{operation.method.upper()} {operation.path}"
    )
    tags = list_at(operation.fields, "tags")
    shown_tags: list[Json] = [one_line(tag, 64) for tag in tags if isinstance(tag, str)]
    if operation.fields.get("deprecated") is True:
        shown_tags.append("deprecated")
    texts: dict[str, Json] = {"title": summary} if summary else {}
    texts |= {"description": short, "tags": shown_tags}
    if content:
        texts["content"] = content
    return texts


def _risk(method: str) -> dict[str, Json]:
    if method in SAFE_METHODS:
        return {"riskLevel": "low", "hasSideEffects": False}
    is_delete = method == "delete"
    risk = "high" if is_delete else "medium"
    return {"riskLevel": risk, "hasSideEffects": True, "requiresConfirmation": is_delete}


def _prerequisites(operation: Mapping[str, Json], api: str) -> dict[str, Json]:
    """Operations that have to come first, as far as the document names them; nothing is guessed."""
    required = operation.get("x-requires")
    required_ids: list[Json] = [
        f"operation:{api}.{plain_part(operation_id)}"
        for operation_id in (required if isinstance(required, list) else [required])
        if isinstance(operation_id, str) and operation_id
    ]
    return {"requires": required_ids} if required_ids else {}


def _output_schema(document: ApiDocument, operation: Mapping[str, Json]) -> dict[str, Json]:
    """The schema of a successful response, shortened; empty if the document has none."""
    by_code = table_at(operation, "responses")
    successes = sorted(code for code in by_code if code.startswith("2"))
    response = document.resolve(by_code[successes[0]] if successes else by_code.get("default"))
    writer = SchemaWriter(document, OUTPUT_DEPTH, OUTPUT_NODES, "writeOnly", characters=160)
    return writer.schema(_response_schema(response or {}))


def _response_schema(response: Mapping[str, Json]) -> Json:
    """The schema of a response: of its JSON if it has some, in version 2 its own."""
    media_types = table_at(response, "content")
    media = media_types.get("application/json") or next(iter(media_types.values()), response)
    return media.get("schema") if isinstance(media, dict) else None


def _request(
    url: str, method: str, inputs: OperationInputs, secrets: Sequence[dict[str, Json]]
) -> dict[str, Json] | None:
    """What `capdisc run` needs for a call; None if the document does not name a host."""
    if not _HOST.match(url) or method == "trace":
        return None
    request: dict[str, Json] = {
        "method": method.upper(),
        "url": url,
        "parameters": inputs.places(),
        "security": [*secrets],
    }
    if inputs.is_form:
        request["body"] = "form"
    return {"http": request}


def _extra(
    api: str, operation: Operation, inputs: OperationInputs, output: dict[str, Json]
) -> dict[str, Json]:
    extra: dict[str, Json] = {
        "api": api,
        "type": "query" if operation.method in SAFE_METHODS else "mutation",
        "method": operation.method.upper(),
        "path": operation.path,
        "parameters": inputs.parameter_entries(),
        "response_schema": output,
    }
    if operation.fields.get("deprecated") is True:
        extra["deprecated"] = True
    return extra
