"""The texts of a capability that are indexed: one for words, one or more for vectors."""

from __future__ import annotations

from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import lexical_text, one_line, space_identifiers
from capdisc_indexer.text.truncation_stemmer import is_english, truncate_stem

# The first part of a SKILL.md body says what it is about; 1,200 to 2,000 characters were worth
# 11.6 points.
BODY_CHARACTERS = 2_000
EMBEDDING_CHARACTERS = 2_000
MAX_PHRASES = 64


def lexical_document(descriptor: Descriptor) -> str:
    """Everything about the capability in one text, ready for the text index."""
    d = descriptor
    parameters = [f"{p.name} {p.description}" for p in d.parameters]
    parts = [
        d.name,
        d.title,
        d.description,
        d.category,
        *d.tags,
        *parameters,
        *d.phrases,
        d.usage_hint,
    ]
    text = lexical_text("\n".join([*parts, d.content[:BODY_CHARACTERS]]))
    # The words themselves stay: names are the same in every language.
    return (
        text
        if is_english(f"{d.description} {d.content[:BODY_CHARACTERS]}")
        else f"{text}\n{truncate_stem(text)}"
    )


def description_text(descriptor: Descriptor) -> str:
    """The text that is encoded for the capability itself: name, description, category, tags,
    parameter names.
    """
    d = descriptor
    labels = [d.category, *d.tags, *(p.name for p in d.parameters)]
    heading = readable_name(d.title or d.name)
    return one_line(
        f"{heading}: {d.description} {' '.join(readable_name(label) for label in labels)}"
    )[:EMBEDDING_CHARACTERS]


def readable_name(name: str) -> str:
    """The name with its parts apart: word pieces of a squeezed name mean nothing to an encoder."""
    return space_identifiers(name.replace("_", " ").replace("-", " ").replace("/", " "))


def embedding_texts(descriptor: Descriptor) -> tuple[str, ...]:
    """The texts that become vectors, the description first, then each example request by itself.

    Matched one by one, example requests gave 92 points where the same words in one text gave 83.
    """
    phrases = dict.fromkeys(
        one_line(phrase)[:EMBEDDING_CHARACTERS] for phrase in descriptor.phrases
    )
    return (description_text(descriptor), *[p for p in phrases if p][:MAX_PHRASES])
