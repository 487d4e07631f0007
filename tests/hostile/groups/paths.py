"""`skillContent` that names what lies elsewhere."""

from __future__ import annotations

from pathlib import Path

from hostile.case import Case, accepted, rejected, unfit, warned
from hostile.writing import MANIFEST, fields, manifest, put, skill

# The first line of a password file, which no output may show.
_PASSWD = ("root:x:0:0",)


def _named(name: str, value: str, codes: str) -> Case:
    """A manifest whose content is this path, as YAML has it."""

    def write(root: Path) -> None:
        put(root, MANIFEST, fields(f"skillContent: {value}\n"))
        (root / "turnip-puller" / "docs").mkdir()

    return rejected(name, codes, write, unsaid=_PASSWD)


_ESCAPES = "path-escape"
_NOWHERE = "path-escape path-missing"
_OUT = """Read [the rules](../../../outside/canary.md), [more](/etc/passwd), [these](~/canary.md),
[those](..%2f..%2f..%2foutside%2fcanary.md) and [the rest](file:///etc/passwd)."""


def _cycle(root: Path) -> None:
    skill("Read [one](one.md).")(root)
    for here, there in (("one", "two"), ("two", "three"), ("three", "one")):
        put(
            root,
            f"turnip-puller/{here}.md",
            f"Go on in [{there}]({there}.md), or begin [again](SKILL.md).\n",
        )


def _fan_out(root: Path) -> None:
    skill("\n".join(f"[row {number}](rows/{number}.md)" for number in range(600)))(root)
    for number in range(600):
        put(root, f"turnip-puller/rows/{number}.md", f"Row {number}: [back](../SKILL.md).\n")


CASES = (
    _named("path-dotdot", "../../../outside/canary.md", _ESCAPES),
    _named("path-dotdot-deep", f"docs/{'../' * 40}etc/passwd", _ESCAPES),
    _named("path-absolute", "/etc/passwd", _ESCAPES),
    _named("path-home", "~/canary.md", _NOWHERE),
    _named("path-home-user", "~root/canary.md", _NOWHERE),
    _named("path-env-variable", "$HOME/canary.md", _NOWHERE),
    _named("path-file-url", "file:///etc/passwd", _ESCAPES),
    _named("path-windows-drive", "'C:\\farm\\rows.md'", _NOWHERE),
    _named("path-windows-unc", "'\\\\barn\\share\\rows.md'", _NOWHERE),
    _named("path-windows-backslash-dotdot", "'..\\..\\..\\outside\\canary.md'", _NOWHERE),
    _named("path-windows-device", "docs/CON.md", f"{_NOWHERE} path-character"),
    _named("path-windows-stream", "docs/rows.md:hidden", f"{_NOWHERE} path-character"),
    _named("path-percent-encoded", "..%2f..%2f..%2foutside%2fcanary.md", _NOWHERE),
    _named("path-nul", '"docs/rows.md\\0.txt"', "control-character path-escape"),
    _named("path-newline", '"docs/rows\\n.md"', "control-character path-escape"),
    unfit("path-empty", "field-empty", manifest(fields('skillContent: ""\n'))),
    _named("path-directory", "./docs/", "path-not-file path-escape"),
    _named("path-missing", "docs/rows.md", "path-missing"),
    _named("path-very-long", "row/" * 900 + "rows.md", "path-missing field-too-long"),
    _named("path-beyond-every-limit", "a/" * 2_500 + "x.md", "path-missing field-too-long"),
    warned(
        "path-markdown-links-out",
        "path-escape suspicious-url",
        skill(_OUT),
        neighbour="skill",
        unsaid=_PASSWD,
    ),
    accepted("path-link-cycle", _cycle, neighbour="skill"),
    warned("path-link-fan-out", "too-many-links", _fan_out, neighbour="skill"),
)
