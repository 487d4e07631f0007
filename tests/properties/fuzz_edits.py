"""Changes of valid files: of their bytes, and of one node of what they hold."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from case_rows import read_rows

ODD_TEXTS: list[str] = read_rows(__file__, "texts")
ODD_VALUES: list[Any] = [
    *ODD_TEXTS,
    *read_rows(__file__, "values"),
    *(2**63, -(2**70), 10**400),
    *({"x": {"y": {"z": [0] * 50}}}, ["a"] * 3000, {f"k{n}": n for n in range(3000)}),
]
_TOKENS = (
    *(text.encode("utf-8", "surrogatepass") for text in ODD_TEXTS),
    *(text.encode() for text in read_rows(__file__, "tokens")),
    *(b"\xff\xfe", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
)


class Edit(NamedTuple):
    """A change of a file: its kind, a place, and a number that says which one of many."""

    kind: str
    place: int
    choice: int


_KINDS = ("insert", "insert", "replace", "cut", "end", "repeat", "flip", "splice", *["node"] * 5)
EDITS = st.lists(
    st.builds(Edit, st.sampled_from(_KINDS), st.integers(0, 2**20 - 1), st.integers(0, 2**16 - 1)),
    min_size=1,
    max_size=4,
)


def change(name: str, data: bytes, edits: Sequence[Edit], others: Sequence[bytes]) -> bytes:
    """The content of a file of this name after the edits; `others` are more files of its format."""
    for edit in edits:
        if name.endswith((".docx", ".xlsx", ".pptx")) and edit.choice % 4:
            data = _change_part(data, edit)
        elif edit.kind == "node":
            data = _change_node(data, edit)
        else:
            data = _change_bytes(data, edit, others)
    return data


def _change_bytes(data: bytes, edit: Edit, others: Sequence[bytes]) -> bytes:
    start = edit.place % (len(data) + 1)
    token = _TOKENS[edit.choice % len(_TOKENS)]
    match edit.kind:
        case "insert":
            return data[:start] + token + data[start:]
        case "replace":
            return data[:start] + token + data[start + edit.choice % 9 :]
        case "cut":
            return data[:start] + data[start + edit.choice % 40 :]
        case "end":
            return data[:start]
        case "repeat":
            return data[:start] + data[start : start + 80] * (edit.choice % 30) + data[start:]
        case "splice":
            other = others[edit.choice % len(others)]
            return data[:start] + other[edit.choice % (len(other) + 1) :]
        case _:
            changed = bytearray(data or b"\0")
            changed[start % len(changed)] ^= 1 << (edit.choice % 8)
            return bytes(changed)


def _change_node(data: bytes, edit: Edit) -> bytes:
    """Gives one node of JSON, of JSON lines or of values before Markdown another value; a file that
    holds none of these gets a token.
    """
    lines = _decode(data).split("\n")
    texts = ["\n".join(lines), *lines]
    offset = edit.place % len(texts) if edit.place % 2 else 0
    for whole in (*texts[offset:], *texts[:offset]):
        is_json = whole.lstrip().startswith(("{", "["))
        key, colon, text = ("", "", whole) if is_json else whole.partition(": ")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        odd = ODD_VALUES[edit.choice % len(ODD_VALUES)]
        changed = f"{key}{colon}{json.dumps(_replace_node(value, edit.place, odd))}"
        return data.replace(_encode(whole), _encode(changed), 1)
    return _change_bytes(data, edit._replace(kind="insert"), [])


def _decode(data: bytes) -> str:
    """The text; "" where the bytes are none."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except ValueError:
        return ""


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _replace_node(value: Any, place: int, odd: Any) -> Any:
    """The value with another one, or another key, at one of its nodes."""
    paths = list(_paths(value))
    path = paths[place % len(paths)]
    if not path:
        return odd
    parent = value
    for step in path[:-1]:
        parent = parent[step]
    if isinstance(parent, dict) and isinstance(odd, str) and place % 3 == 0:
        parent[odd] = parent.pop(path[-1])
    else:
        parent[path[-1]] = odd
    return value


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(inner, (*path, key))


def _change_part(data: bytes, edit: Edit) -> bytes:
    """Changes one file of an archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError, EOFError):
        return _change_bytes(data, edit._replace(kind="insert"), [])
    except Exception:  # zlib.error of a damaged part
        return data
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, part) in enumerate(parts.items()):
            is_chosen = number == edit.place % len(parts)
            kind = "insert" if edit.kind in ("node", "splice") else edit.kind
            archive.writestr(
                name, _change_bytes(part, edit._replace(kind=kind), []) if is_chosen else part
            )
    return stream.getvalue()
