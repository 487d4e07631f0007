"""The template that was asked for, by path or by name, filled in."""

from __future__ import annotations

from pathlib import Path

from capdisc import files, runtime
from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.render.hints import MEANS
from capdisc_indexer.render.templates import Prompt, builtin, laid_out, names
from capdisc_indexer.text import plain
from capdisc_indexer.types import Piece

LIMIT_BYTES = 256 * 1024
_SUFFIXES = (".txt", ".md")


def layout(
    here: runtime.Runtime, template: str, hint: str, model: str, texts: tuple[str, ...], needed: tuple[str, ...]
) -> tuple[Piece, ...]:
    """The pieces of the template. Raises UsageError for a name or a placeholder that there is not, InputError for a
    file that cannot be read."""
    values = {"tools": MEANS[hint], "model": model, "query": plain("\n".join(texts)), "date": runtime.today()}
    return laid_out(_prompt(here, template), values, needed)


def _prompt(here: runtime.Runtime, template: str) -> Prompt:
    """Whatever looks like a path is one; a name is one that comes along, else a file in a folder of templates."""
    if template == files.STDIN or "/" in template or template.endswith(_SUFFIXES):
        return Prompt(name=template, text=text_file(here, template))
    if template in names():
        return builtin(template)
    for folder in _folders(here):
        for suffix in _SUFFIXES:
            if (path := folder / f"{template}{suffix}").is_file():
                return Prompt(name=str(path), text=text_file(here, str(path)))
    folders = " and ".join(str(folder) for folder in _folders(here))
    raise UsageError(
        f"there is no template {template!r}", f"one of: {', '.join(names())}; a path; or a .txt file in {folders}"
    )


def _folders(here: runtime.Runtime) -> tuple[Path, Path]:
    base = Path(here.environ.get("XDG_CONFIG_HOME") or here.home / ".config")
    return here.workspace / ".capdisc" / "templates", base / "capdisc" / "templates"


def text_file(here: runtime.Runtime, name: str) -> str:
    """The text of a file that the user named. Raises InputError for one that is too large, or no UTF-8."""
    data = files.read(here, name, LIMIT_BYTES, "name a text that is meant for a prompt")
    try:
        return plain(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8", "save it as UTF-8") from error
