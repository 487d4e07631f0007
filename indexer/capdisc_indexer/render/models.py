"""Which style of prompt a model needs. The names are in models.toml beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from capdisc_indexer.frozen import frozen

STYLES = ("auto", "tools", "full")
_OTHER = {"tools": "full", "full": "tools"}


@frozen(kw_only=True)
class Style:
    """The style of a prompt, "tools" or "full", for a model ("" when none was named), and why."""

    name: str
    reason: str
    model: str = ""

    @property
    def use_tools(self) -> bool:
        """Whether the model is to find capabilities by itself."""
        return self.name == "tools"


def style_for(model: str, wanted: str = "auto") -> Style:
    """The style for a model of this name; any but "auto" is taken as it is wanted, and the reason says so.

    >>> style_for("claude-2.1").name, style_for("gpt-4o").name, style_for("foo").reason
    ('full', 'tools', 'unknown model')
    """
    name, reason = _of(model) if model else ("tools", "no model was named")
    if wanted == "auto":
        return Style(name=name, reason=reason, model=model)
    against = f", against what is known of the model ({reason})" if model and _OTHER[wanted] == name else ""
    return Style(name=wanted, reason=f"asked for{against}", model=model)


def _of(model: str) -> tuple[str, str]:
    table, lowered = _table(), model.lower()
    if found := next((part for part in table["legacy"] if part in lowered), None):
        return "full", f"{found} has no tools"
    if found := next((part for part in table["tools"] if part in lowered), None):
        return "tools", f"{found} has tools"
    return "tools", "unknown model"


def _table() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
