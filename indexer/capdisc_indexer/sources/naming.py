"""The rules that every format shares for names."""

from __future__ import annotations

import re
import unicodedata

MAX_NAME = 64  # characters; the Agent Skills format allows no more

_NAME = re.compile(r"[\w./ -]+")
_SECRET = re.compile(r"[A-Z][A-Z0-9_]{0,127}")


def clean_name(text: str) -> str:
    """The name in normal form (NFKC), on one line, without blanks around it."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def is_plain_name(name: str) -> bool:
    """Whether a name holds only letters, digits, blanks and `-_./`, and does not climb.

    >>> is_plain_name("pdf-merge"), is_plain_name("../pdf"), is_plain_name("$(ls)")
    (True, False, False)
    """
    return bool(_NAME.fullmatch(name)) and not name.startswith((".", "/")) and ".." not in name


def is_secret_name(text: str) -> bool:
    """Whether the text is the name of a secret, as environment variables are named, and not the secret."""
    return bool(_SECRET.fullmatch(text))
