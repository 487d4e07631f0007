"""Every case, group by group."""

from __future__ import annotations

from hostile.case import Case
from hostile.groups import (
    collisions,
    controls,
    encodings,
    fields,
    front_matter,
    hidden_text,
    links,
    paths,
    prompt,
    ranking,
    schema,
    secret_values,
    terminal,
    tree,
    yaml_scalars,
    yaml_structure,
)

GROUPS: dict[str, tuple[Case, ...]] = {
    "controls": controls.CASES,
    "yaml structure": yaml_structure.CASES,
    "yaml scalars": yaml_scalars.CASES,
    "encodings": encodings.CASES,
    "fields": fields.CASES,
    "secrets": secret_values.CASES,
    "front matter": front_matter.CASES,
    "hidden text": hidden_text.CASES,
    "terminal": terminal.CASES,
    "prompt": prompt.CASES,
    "paths": paths.CASES,
    "links": links.CASES,
    "schema": schema.CASES,
    "collisions": collisions.CASES,
    "ranking": ranking.CASES,
    "tree": tree.CASES,
}
CASES: dict[str, Case] = {case.name: case for cases in GROUPS.values() for case in cases}
