"""Write a few files and validate them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from capdisc_indexer.model.types import Finding
from capdisc_indexer.validation.validate import validate_roots

Check = Callable[..., list[Finding]]


@pytest.fixture
def findings(tmp_path: Path) -> Check:
    """The findings about a catalogue of these files: `findings({"a/SKILL.md": "..."}, "strict")`."""

    def checked(files: Mapping[str, str | bytes], profile: str = "spec") -> list[Finding]:
        for name, text in files.items():
            path = tmp_path / "catalog" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return list(validate_roots([tmp_path / "catalog"], profile).chosen.findings)

    return checked


@pytest.fixture
def codes(findings: Check) -> Callable[..., list[str]]:
    """The same as `severity code` words, without infos."""

    def checked(files: Mapping[str, str | bytes], profile: str = "spec") -> list[str]:
        return [
            f"{one.severity} {one.code}"
            for one in findings(files, profile)
            if one.severity != "info"
        ]

    return checked


def manifest(
    name: str = "send-mail", more: str = "", description: str = "Sends a mail to a person."
) -> str:
    """A sound manifest, and further lines."""
    return f"name: {name}\nkind: tool\ndescription: {description}\n{more}"


def skill(
    name: str = "a",
    body: str = "Do it.\n",
    description: str = "Sorts issues. Use when there are many.",
) -> str:
    """A sound SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}"
