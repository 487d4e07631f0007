"""Fields that are missing, of another type, too long, or meant for somebody else's parser."""

from __future__ import annotations

from hostile.case import unfit, warned
from hostile.checks import advises
from hostile.writing import TURNIPS, fields, files, manifest, skill_text

CASES = (
    unfit(
        "field-missing-name", "field-missing", manifest(f"kind: tool\ndescription: {TURNIPS}\n")
    ),
    unfit(
        "field-missing-kind",
        "field-missing",
        manifest(f"name: turnip-puller\ndescription: {TURNIPS}\n"),
    ),
    unfit(
        "field-blank-description",
        "field-missing field-empty",
        manifest(fields(description='"   \\t  "')),
    ),
    warned(
        "field-unknown-kind",
        "unknown-kind",
        manifest(f"name: turnip-puller\nkind: harvester\ndescription: {TURNIPS}\n"),
    ),
    warned(
        "field-typo-key",
        "unknown-key",
        manifest(fields("requiredSecerts: [FARM_API_KEY]\n")),
        checks=(advises("requiredSecrets"),),
    ),
    warned(
        "field-wrong-types",
        "field-type",
        manifest("name: [turnip, puller]\nkind: {of: tool}\ndescription: [Pulls, turnips]\n"),
    ),
    warned(
        "field-description-very-long",
        "field-too-long",
        manifest(lambda: fields(description="turnips and more " * 6_000)),
    ),
    warned(
        "field-too-many-tags",
        "field-too-long too-many-items",
        manifest(
            lambda: fields(f"tags: [{', '.join(f'tag-{number}' for number in range(5_000))}]\n")
        ),
    ),
    warned(
        "field-name-path-characters",
        "field-value",
        manifest(fields(name="../../outside/puller")),
        indexed=("tool:outside/puller",),
        absent=("..",),
    ),
    warned(
        "field-name-shell-characters",
        "field-value",
        manifest(fields(name="'$(touch PWNED); `touch PWNED` | x &'")),
        indexed=("tool:touch PWNED touch PWNED x",),
        absent=("$", "`", ";"),
    ),
    # Unescaped in a vector store's delete filter, this id emptied the table.
    warned(
        "field-id-filter-injection",
        "field-value",
        manifest(fields("id: \"tool:x' OR '1'='1\"\n")),
        indexed=("tool:x OR 1 1",),
        absent=("'",),
    ),
    warned(
        "field-id-kind-mismatch",
        "field-value",
        manifest(fields("id: channel:turnip-puller\n")),
        indexed=("tool:turnip-puller",),
    ),
    warned(
        "field-name-folder-mismatch",
        "name-folder-mismatch",
        files({"beet-puller/SKILL.md": skill_text("Pull.")}),
        neighbour="skill",
    ),
    warned(
        "field-proto-keys",
        "unknown-key",
        manifest(
            fields(
                "__proto__: {admin: true}\nconstructor: {prototype: {admin: true}}\n__class__: x\n"
            )
        ),
    ),
)
