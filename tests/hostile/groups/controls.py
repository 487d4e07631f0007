"""What must be accepted without any alarm."""

from __future__ import annotations

from pathlib import Path

from hostile.case import accepted
from hostile.checks import says
from hostile.writing import MANIFEST, SKILL, TOOL, fields, files, manifest, skill

_EVERYTHING = """id: tool:turnip-puller
displayName: Turnip puller
category: farming
tags: [turnips, harvest]
phrases: [get the roots out of the ground, bring the harvest in]
requires: [beside-control-full]
requiredSecrets: [FARM_API_KEY]
requiredBins: [spade]
composedWith: [beside-control-full]
related: [beside-control-full]
riskLevel: medium
hasSideEffects: true
requiresConfirmation: true
inputSchema:
  type: object
  properties:
    rows: {type: integer, description: How many rows to pull.}
    soil: {type: string, enum: [wet, dry], default: wet}
  required: [rows]
outputSchema:
  type: object
  properties:
    roots: {type: integer, description: How many came out.}
skillContent: |
  Loosen the ground first. Then pull, one row after the other.
usageHint: Use it once the leaves turn yellow.
guidance: Count the rows before you begin.
instructions: Never pull after rain.
extraction: {roots: $.roots}
edges:
  - {target: beside-control-full, type: RELATED, weight: 0.4}
metadata: {owner: farm, season: autumn}
version: "1.2.0"
author: A farmer
license: MIT
"""
# Persian and Devanagari with their joiners, one farmer from two emoji, a flag of tag characters, four more scripts.
_SCRIPTS = (
    "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937 \U0001f468\u200d\U0001f33e "
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f za\u017c\u00f3\u0142\u0107 "
    "\u6536\u83b7\u841d\u535c \u0441\u043e\u0431\u0440\u0430\u0442\u044c \u0440\u0435\u043f\u0443 "
    "\u05dc\u05e7\u05d8\u05d5\u05e3 \u05dc\u05e4\u05ea"
)
_BRACKETS = """# Pulling

Rows are written as [first][second] and [bold]not bold[/bold], and `a[0]` is the first.

```python
rows = [row for row in field if row["ripe"]]
```

~~~~
```
still inside
```
~~~~"""
_SECURITY_WORDS = """# Passwords in the shed

Ignore rows that are marked. The lock's password stays with the farmer; never write it down. A later setting overrides
an earlier one, and the system prompts before it deletes a record. Do not tell the pupils the answer before the test."""


def _empty_folders(root: Path) -> None:
    for number in range(300):
        (root / "shed" / f"shelf-{number:03}").mkdir(parents=True)


CASES = (
    accepted(
        "control-minimal",
        manifest("name: plain\nkind: tool\ndescription: Pulls turnips from a field.\n"),
        indexed=("tool:plain",),
    ),
    accepted("control-full", manifest(fields(_EVERYTHING)), indexed=(TOOL,)),
    accepted(
        "control-skill-only",
        skill("Loosen the ground, then pull."),
        indexed=(SKILL,),
        neighbour="skill",
    ),
    accepted("control-multilingual", skill(_SCRIPTS), indexed=(SKILL,), neighbour="skill"),
    accepted(
        "control-brackets-and-fences",
        skill(_BRACKETS),
        indexed=(SKILL,),
        checks=(says("show --json", _BRACKETS),),
    ),
    accepted(
        "control-crlf-and-bom",
        files({MANIFEST: b"\xef\xbb\xbf" + fields().replace("\n", "\r\n").encode()}),
        indexed=(TOOL,),
    ),
    accepted("control-benign-security-words", skill(_SECURITY_WORDS), indexed=(SKILL,)),
    accepted(
        "control-empty-directories",
        _empty_folders,
        indexed=("tool:beside-control-empty-directories",),
    ),
)
