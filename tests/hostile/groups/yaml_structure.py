"""YAML whose shape is wrong, or that grows while it is read."""

from __future__ import annotations

from itertools import pairwise

from hostile.case import rejected
from hostile.writing import fields, manifest

_LEVELS = "abcdefghi"


def _laughs() -> str:
    lines = [f"a: &a [{', '.join(['lol'] * 9)}]"]
    lines += [f"{one}: &{one} [{', '.join([f'*{last}'] * 9)}]" for last, one in pairwise(_LEVELS)]
    return fields("\n".join(lines) + "\n")


def _merges() -> str:
    lines = ["a: &a {k: v}"]
    lines += [
        f"{one}: &{one} {{<<: [{', '.join([f'*{last}'] * 10)}]}}"
        for last, one in pairwise(_LEVELS)
    ]
    return fields("\n".join(lines) + "\n")


def _aliases() -> str:
    return fields(f"a: &a {'x' * 150_000}\nb: [{', '.join(['*a'] * 20_000)}]\n")


def _brackets(depth: int) -> str:
    return fields(f"tags: {'[' * depth}{']' * depth}\n")


def _blocks(depth: int) -> str:
    return fields("metadata:\n" + "".join(f"{' ' * (level + 1)}k:\n" for level in range(depth)))


def _keys(count: int) -> str:
    return fields("".join(f"key-{number}: {number}\n" for number in range(count)))


CASES = (
    rejected("yaml-empty-file", "yaml-empty", manifest(b"")),
    rejected("yaml-comment-only", "yaml-empty", manifest("# name: later\n# kind: tool\n")),
    rejected(
        "yaml-top-level-list", "yaml-not-mapping", manifest("- name\n- kind\n- description\n")
    ),
    rejected("yaml-top-level-scalar", "yaml-not-mapping", manifest("This tool pulls turnips.\n")),
    rejected(
        "yaml-truncated-mid-file",
        "yaml-syntax",
        manifest('name: turnip-puller\nkind: tool\ndescription: "Pulls turnips from a mu'),
    ),
    rejected(
        "yaml-tab-indent",
        "yaml-syntax",
        manifest(
            fields("inputSchema:\n\ttype: object\n\tproperties:\n\t\trows: {type: integer}\n")
        ),
    ),
    rejected(
        "yaml-duplicate-keys",
        "yaml-duplicate-key",
        manifest(fields("name: shown-last\n", name="shown-first")),
        absent=("shown-last",),
    ),
    rejected(
        "yaml-duplicate-key-nested",
        "yaml-duplicate-key",
        manifest(
            fields(
                "inputSchema:\n  properties:\n    row: {type: string}\n    row: {type: integer}\n"
            )
        ),
    ),
    rejected(
        "yaml-python-tag",
        "yaml-tag",
        manifest(fields('metadata: !!python/object/apply:os.system ["touch PWNED"]\n')),
    ),
    rejected(
        "yaml-binary-and-set-tags",
        "yaml-tag",
        manifest(
            fields("metadata:\n  picture: !!binary R0lGODlh\n  crops: !!set {turnip, beet}\n")
        ),
    ),
    rejected(
        "yaml-custom-tag",
        "yaml-tag",
        manifest(fields("skillContent: !include ../../../outside/canary.md\n")),
    ),
    rejected("yaml-billion-laughs", "yaml-alias", manifest(_laughs), seconds=1, mebibytes=120),
    rejected(
        "yaml-merge-key-bomb",
        "yaml-alias yaml-merge-key",
        manifest(_merges),
        seconds=1,
        mebibytes=120,
    ),
    rejected(
        "yaml-alias-quadratic",
        "yaml-alias file-too-large",
        manifest(_aliases),
        seconds=1,
        mebibytes=120,
    ),
    rejected(
        "yaml-self-reference",
        "yaml-alias",
        manifest(fields("metadata: &me {inside: [*me, *me]}\n")),
    ),
    rejected("yaml-deep-flow-1000", "yaml-depth", manifest(lambda: _brackets(1_000))),
    # libyaml's composer recurses on the machine stack and is ended by signal 11: only a look beforehand helps.
    rejected(
        "yaml-deep-flow-100000",
        "yaml-depth file-too-large",
        manifest(lambda: _brackets(100_000)),
        seconds=1,
    ),
    rejected("yaml-deep-block", "yaml-depth file-too-large", manifest(lambda: _blocks(700))),
    rejected(
        "yaml-many-keys",
        "yaml-too-many-nodes file-too-large",
        manifest(lambda: _keys(120_000)),
        seconds=2,
    ),
    rejected(
        "yaml-huge-scalar",
        "file-too-large",
        manifest(lambda: fields(description="turnips " * 1_250_000)),
        seconds=1,
        mebibytes=150,
    ),
)
