"""Files that stand in one text, each after a line `-- PATH --`."""

from __future__ import annotations

import re
from pathlib import Path


def expand(text: str) -> str:
    """The text with `<<ab*3>>` written out, `<<U+200B>>` as that character, and without `<<>>`.
    Characters from U+DC80 to U+DCFF stand for bytes.
    """
    text = re.sub(
        r"<<U\+([0-9A-F]+)>>", lambda code: chr(int(code[1], 16)), text.replace("<<>>", "")
    )
    return re.sub(r"<<((?s:.+?))\*(\d+)>>", lambda run: run[1] * int(run[2]), text)


def write_files(text: str, folder: Path) -> None:
    """Write the files below the folder; what stands before the first is not one."""
    _, *parts = re.split(r"^-- (.+) --\n", text, flags=re.MULTILINE)
    for name, content in zip(parts[::2], parts[1::2], strict=True):
        path = folder / expand(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(expand(content).encode("utf-8", "surrogateescape"))
