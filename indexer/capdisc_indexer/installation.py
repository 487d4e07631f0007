"""How was capdisc installed, and which command adds an extra to that installation?

Installers leave notes: `direct_url.json` (PEP 610) and `INSTALLER` next to the metadata of the
distribution, `pipx_metadata.json` and `uv-receipt.toml` in the environments of pipx and uv. They
are read only when a hint is printed; importlib.metadata would take 20 ms for the same files.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import system

# The name on the package index, where `capdisc` is another project. The command is `capdisc`.
# The light one of the same files needs the extra `full` for all libraries.
DISTRIBUTION, LIGHT_DISTRIBUTION = "capdisc-cli", "capdisc-light"
_COMMAND = "capdisc"

Installer: TypeAlias = Literal["pip", "uv pip", "pipx", "uv tool", "uvx"]
# The folders of uv's cache in which `uvx` makes its environments.
_UV_CACHE_FOLDERS = re.compile(r"[/\\](?:archive|environments|builds)-v\d+[/\\]")


@frozen(kw_only=True)
class Installation:
    """One installation: the environment with its Python, what installed it, and from where.

    `source` is the path of a clone or an archive, or a URL that pip takes; "" for the package
    index. `extras` are those that the installer has noted; `requirements` are the lines
    Requires-Dist of the metadata.
    """

    installer: Installer
    prefix: str
    python: str
    distribution: str = DISTRIBUTION
    source: str = ""
    is_editable: bool = False
    extras: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()


def find_installation(
    prefix: str | None = None, python: str | None = None, search_path: Sequence[str] | None = None
) -> Installation:
    """The installation that this process runs from, unless another environment is given."""
    prefix, python = prefix or sys.prefix, python or sys.executable or "python3"
    distribution, metadata = _find_metadata(sys.path if search_path is None else search_path)
    source, is_editable = _read_source(metadata)
    installer, extras = _find_installer(Path(prefix), metadata, distribution)
    return Installation(
        installer=installer,
        prefix=prefix,
        python=python,
        distribution=distribution,
        source=source,
        is_editable=is_editable,
        extras=extras,
        requirements=tuple(_read_requirements(metadata)),
    )


def extra_hint(extra: str) -> str:
    """The hint of an error about a missing extra: the command that installs it."""
    return f"install the extra {extra}: {extra_command(extra, find_installation())}"


def repair_hint() -> str:
    """The hint where a library of capdisc is missing: the command that installs all of them."""
    return f"install all that capdisc needs: {repair_command(find_installation())}"


def extra_command(extra: str, installation: Installation) -> str:
    """The command line that adds the extra to the installation.

    >>> here = Installation(installer="uv tool", prefix="", python="", extras=("sql",))
    >>> extra_command("plot", here)
    "uv tool install 'capdisc-cli[sql,plot]'"
    """
    requirement = _requirement(installation, (*installation.extras, extra))
    if installation.installer == "uvx":
        return f"uvx --from {requirement} {_COMMAND}"
    if installation.installer == "uv tool":
        return f"uv tool install {requirement}"
    if installation.installer == "pipx":
        # Injecting needs no address of capdisc itself, so it fits every origin.
        added = list(_extra_requirements(installation, extra))
        if added:
            return " ".join(["pipx inject", _environment_name(installation), *added])
        return f"pipx install --force {requirement}"
    return f"{_pip_install(installation)} {requirement}"


def repair_command(installation: Installation) -> str:
    """The command line that installs every library that the installation lacks.

    >>> repair_command(Installation(installer="pip", prefix="/v", python="/v/bin/python"))
    '/v/bin/python -m pip install capdisc-cli'
    """
    if installation.distribution == LIGHT_DISTRIBUTION:
        return extra_command("full", installation)
    requirement = _requirement(installation, installation.extras)
    if installation.installer == "uvx":
        return f"uvx --refresh --from {requirement} {_COMMAND}"
    if installation.installer == "uv tool":
        return f"uv tool install --reinstall {requirement}"
    if installation.installer == "pipx":
        return f"pipx reinstall {_environment_name(installation)}"
    return f"{_pip_install(installation)} {requirement}"


def remove_command(installation: Installation) -> str:
    """The command line that removes the installation.

    >>> remove_command(Installation(installer="pip", prefix="/v", python="/v/bin/python"))
    '/v/bin/python -m pip uninstall capdisc-cli'
    """
    if installation.installer == "pipx":
        return f"pipx uninstall {_environment_name(installation)}"
    words = {
        "uvx": "uv cache clean",
        "uv tool": "uv tool uninstall",
        "uv pip": f"uv pip uninstall --python {system.quote_word(installation.prefix)}",
        "pip": f"{system.quote_word(installation.python)} -m pip uninstall",
    }
    return f"{words[installation.installer]} {installation.distribution}"


def _pip_install(installation: Installation) -> str:
    """How packages get into this environment; those that uv makes have no pip."""
    if installation.installer == "uv pip":
        return f"uv pip install --python {system.quote_word(installation.prefix)}"
    return f"{system.quote_word(installation.python)} -m pip install"


def _requirement(installation: Installation, extras: Sequence[str]) -> str:
    """The requirement, quoted for a shell, with `-e` before it for an editable clone."""
    listed = f"[{','.join(dict.fromkeys(extras))}]" if extras else ""
    source = installation.source
    if not source:
        text = installation.distribution + listed
    elif "://" in source:
        text = f"{installation.distribution}{listed} @ {source}"
    else:
        text = source + listed
    return f"{'-e ' if installation.is_editable else ''}{system.quote_word(text)}"


def _environment_name(installation: Installation) -> str:
    return system.quote_word(Path(installation.prefix).name)  # with the suffix, if it has one


def _extra_requirements(installation: Installation, extra: str) -> Iterator[str]:
    """What the extra consists of, each requirement quoted for a shell, without markers."""
    for line in installation.requirements:
        requirement, _, marker = line.partition(";")
        if re.search(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]", marker):
            yield system.quote_word(requirement.strip())


def _find_metadata(search_path: Sequence[str]) -> tuple[str, Path | None]:
    """The distribution and the folder with its metadata, None where capdisc runs without one."""
    for folder in search_path:
        for name in (DISTRIBUTION, LIGHT_DISTRIBUTION):
            pattern = f"{name.replace('-', '_')}-*.dist-info"
            for metadata in sorted(Path(folder or ".").glob(pattern)):
                return name, metadata
    return DISTRIBUTION, None


def _read_source(metadata: Path | None) -> tuple[str, bool]:
    """Where the distribution was installed from, and whether it is editable."""
    if metadata is None:  # started from a source tree that nobody installed
        clone = Path(__file__).parents[2]
        return (str(clone), True) if (clone / "pyproject.toml").is_file() else ("", False)
    direct_url = _read_json(metadata / "direct_url.json")
    url, subdirectory = (str(direct_url.get(key, "")) for key in ("url", "subdirectory"))
    is_editable = bool(_object(direct_url.get("dir_info")).get("editable"))
    if url.startswith("file://"):
        from urllib.parse import unquote

        path = f"{unquote(url.removeprefix('file://'))}/{subdirectory}".rstrip("/")
        return (path, is_editable) if Path(path).exists() else ("", False)
    vcs = _object(direct_url.get("vcs_info"))
    if vcs:
        address = f"{vcs.get('vcs', 'git')}+{url}@{vcs.get('commit_id', '')}".rstrip("@")
        return address + (f"#subdirectory={subdirectory}" if subdirectory else ""), False
    return url, False


def _find_installer(
    prefix: Path, metadata: Path | None, distribution: str
) -> tuple[Installer, tuple[str, ...]]:
    """What made the environment, and the extras that it has noted."""
    receipt = prefix / "uv-receipt.toml"
    if receipt.is_file():
        return "uv tool", _receipt_extras(receipt, distribution)
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx", ()
    if _UV_CACHE_FOLDERS.search(f"{prefix}/"):
        return "uvx", ()
    if metadata and _read_text(metadata / "INSTALLER").strip() == "uv":
        return "uv pip", ()
    return "pip", ()


def _receipt_extras(receipt: Path, distribution: str) -> tuple[str, ...]:
    """The extras of capdisc in a receipt of `uv tool`."""
    import tomllib

    try:
        tool = _object(tomllib.loads(_read_text(receipt)).get("tool"))
    except tomllib.TOMLDecodeError:
        return ()
    requirements = tool.get("requirements")
    for requirement in requirements if isinstance(requirements, list) else ():
        entry = _object(requirement)
        if entry.get("name") == distribution:
            return tuple(map(str, entry.get("extras") or ()))
    return ()


def _read_requirements(metadata: Path | None) -> Iterator[str]:
    if metadata:
        for line in _read_text(metadata / "METADATA").splitlines():
            if not line:  # the description follows
                return
            if line.startswith("Requires-Dist:"):
                yield line.partition(":")[2].strip()


def _read_json(path: Path) -> JsonObject:
    try:
        return _object(json.loads(_read_text(path) or "{}"))
    except ValueError:
        return {}


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _read_text(path: Path) -> str:
    """The text of the file; "" where it cannot be read, since a hint must not fail."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return ""
