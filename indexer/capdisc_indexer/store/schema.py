"""What the text index keeps of a capability, and how its words are analysed.

Two analysed fields earn their place: `text` with everything, and `name` alone at 0.3 of the weight. More fields, or a
heavier name, lost up to 12 points. The document itself is kept as two stored values: `head` (all but the long parts,
enough to list, filter and summarise) and `body` (content and schemas); `pieces` is its bag of word pieces.
"""

from __future__ import annotations

from typing import Any

from capdisc_indexer import engines

ANALYSER = "capdisc"
NAME_WEIGHT = 0.3
RISKS = ("low", "medium", "high", "critical")


def schema() -> Any:
    """The fields."""
    builder = engines.tantivy().SchemaBuilder()
    for field in ("id", "kind", "category", "tag", "risk", "alias"):
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("name", tokenizer_name=ANALYSER, index_option="freq")
    builder.add_text_field("text", tokenizer_name=ANALYSER, index_option="freq")
    builder.add_bytes_field("head", stored=True)
    builder.add_bytes_field("body", stored=True)
    builder.add_bytes_field("pieces", stored=True)
    return builder.build()


def analyser() -> Any:
    """The steps from text to terms; tokens over 60 bytes are no words."""
    t = engines.tantivy()
    filters = (t.Filter.remove_long(60), t.Filter.lowercase(), t.Filter.ascii_fold(), t.Filter.stemmer("english"))
    builder = t.TextAnalyzerBuilder(t.Tokenizer.simple())
    for each in filters:
        builder = builder.filter(each)
    return builder.build()


def alias_key(name: str) -> str:
    """The form under which ids and names are looked up: case and the choice of separator do not matter."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")
