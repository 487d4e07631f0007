"""YAML whose single values mislead a reader, or its caller."""

from __future__ import annotations

from hostile.case import rejected, warned
from hostile.writing import fields, manifest

CASES = (
    rejected(
        "yaml-sexagesimal-bomb",
        "file-too-large field-type",
        manifest(lambda: fields(f"version: 1{':59' * 200_000}\n")),
        seconds=1,
    ),
    warned("yaml-integer-too-long", "unknown-key", manifest(fields(f"acreage: {'7' * 5_000}\n"))),
    warned("yaml-bad-date", "unknown-key", manifest(fields("sown: 2024-02-30\n"))),
    warned(
        "yaml-implicit-types",
        "ambiguous-scalar",
        manifest(fields("category: 2024-01-31\nversion: 1e3\n", name="no")),
        indexed=("tool:no",),
    ),
    rejected(
        "yaml-null-fields",
        "field-missing field-type field-value",
        manifest("name: null\nkind: ~\ndescription:\n"),
    ),
    rejected(
        "yaml-complex-keys",
        "yaml-syntax yaml-key-type",
        manifest(fields("? [row, column]\n: wet\n? {crop: turnip}\n: dry\n")),
    ),
    rejected("yaml-nul-escape", "control-character", manifest(fields(name='"turnip\\0puller"'))),
    rejected(
        "yaml-raw-control-bytes",
        "yaml-syntax control-character",
        manifest(fields(description="Pulls \x00 turnips \x01 now.")),
    ),
    rejected(
        "yaml-lone-surrogate-escape",
        "yaml-syntax invalid-unicode",
        manifest(fields(description='"Pulls \\uD800 turnips."')),
    ),
)
