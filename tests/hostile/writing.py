"""How cases write their files: plain bytes, no clock, no chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from hostile.case import Writer

# What every case's own capability is about, so that one query finds it.
TURNIPS = "Pulls turnips from a muddy field."
NAME = "turnip-puller"
TOOL, SKILL = f"tool:{NAME}", f"skill:{NAME}"
MANIFEST, SKILL_FILE = f"{NAME}/CAPABILITY.yaml", f"{NAME}/SKILL.md"

# No secret scanner should find these in the repository.
ENV_NAME, ENV_CANARY = "TURNIP_API_KEY", "-".join(("CANARY", "ENV", "7d10c5e2"))
FILE_CANARY = "-".join(("CANARY", "FILE", "40ab93f6"))
HIDDEN_CANARY = "-".join(("CANARY", "HIDDEN", "c2e8417b"))
ACCESS_KEY = "AKIA" + "IOSFODNN7" + "SAMPLE1"
SECRET_KEY = "wJalrXUtnFEMI" + "/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"


def put(root: Path, relative: str | bytes, content: str | bytes) -> Path:
    """The file that now holds this, below the case's folder."""
    path = root / (
        relative if isinstance(relative, str) else relative.decode("utf-8", "surrogateescape")
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def files(contents: Mapping[str, str | bytes | Callable[[], str]]) -> Writer:
    """Writes each of these files; long texts are made only when they are written."""

    def write(root: Path) -> None:
        for relative, content in contents.items():
            put(root, relative, content() if callable(content) else content)

    return write


def manifest(text: str | bytes | Callable[[], str]) -> Writer:
    """Writes a CAPABILITY.yaml of exactly this text."""
    return files({MANIFEST: text})


def fields(more: str = "", *, name: str = NAME, description: str = TURNIPS) -> str:
    """The text of a sound manifest, with more lines after its required ones."""
    return f"name: {name}\nkind: tool\ndescription: {description}\n{more}"


def skill_text(body: str, *, name: str = NAME, description: str = TURNIPS, more: str = "") -> str:
    """The text of a SKILL.md."""
    return f"---\nname: {name}\ndescription: {description} Use when turnips are ripe.\n{more}---\n\n{body}\n"


def skill(body: str, **parts: str) -> Writer:
    """Writes a SKILL.md with this body."""
    return files({SKILL_FILE: skill_text(body, **parts)})


def linked(root: Path, relative: str, target: str) -> Path:
    """A symbolic link in the case's folder."""
    path = root / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def outside(root: Path) -> Path:
    """The folder beside all cases that none of them may reach."""
    return root.parent.parent / "outside"
