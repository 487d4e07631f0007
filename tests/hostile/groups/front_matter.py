"""The block at the head of a SKILL.md, not there, not closed, or of another kind."""

from __future__ import annotations

from hostile.case import accepted, rejected, unfit
from hostile.writing import SKILL, SKILL_FILE, files, skill, skill_text

_TOML = "+++\nname = 'turnip-puller'\ndescription = 'Pulls turnips.'\n+++\n\nPull.\n"
_SECOND = "---\nname: shown-second\ndescription: Not this one.\n---\n\nPull."
_UNCLOSED = "---\nname: turnip-puller\ndescription: Pulls turnips.\n\n# Turnips\n"


def _many() -> str:
    return skill_text(
        "Pull.",
        more="metadata:\n" + "".join(f"  key-{number}: value\n" for number in range(40_000)),
    )


CASES = (
    unfit(
        "frontmatter-missing",
        "frontmatter-missing",
        files({SKILL_FILE: "# Turnips\n\nPulls turnips.\n"}),
        neighbour="skill",
    ),
    rejected(
        "frontmatter-unclosed",
        "frontmatter-unclosed",
        files({SKILL_FILE: _UNCLOSED}),
        neighbour="skill",
    ),
    # A lazy regular expression takes cubic time on an opener and newlines without a closer.
    rejected(
        "frontmatter-redos",
        "frontmatter-unclosed",
        files({SKILL_FILE: "---" + "\n" * 50_000 + "--"}),
        neighbour="skill",
        seconds=1,
    ),
    rejected(
        "frontmatter-redos-dashes",
        "frontmatter-missing frontmatter-unclosed",
        files({SKILL_FILE: "----\n" + "--- x\n" * 50_000}),
        neighbour="skill",
        seconds=1,
    ),
    accepted(
        "frontmatter-second-block",
        skill(_SECOND),
        neighbour="skill",
        indexed=(SKILL,),
        absent=("shown-second",),
    ),
    rejected(
        "frontmatter-toml", "frontmatter-missing", files({SKILL_FILE: _TOML}), neighbour="skill"
    ),
    rejected(
        "frontmatter-huge",
        "yaml-too-many-nodes file-too-large",
        files({SKILL_FILE: _many}),
        neighbour="skill",
    ),
)
