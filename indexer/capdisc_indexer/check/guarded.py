"""The rules that guard whoever reads a file: nothing inside a file can switch one off."""

from __future__ import annotations

_CODES = frozenset(
    """
    bidi-control binary-file combining-flood confusable-name control-character duplicate-id encoded-payload encoding
    hard-coded-secret hidden-text html-comment ignore-refused impersonation injection-phrase invalid-unicode
    invisible-character keyword-stuffing line-break-in-field markup-breakout near-duplicate-flood padding
    remote-execution reserved-name secret-value shadowed-id suspicious-url symlink token-density
    """.split()
)
_FAMILIES = ("json-", "path-", "schema-", "yaml-")


def is_guarded(code: str) -> bool:
    """Whether only the user's own options and settings can silence the rule.

    >>> is_guarded("hidden-text"), is_guarded("yaml-alias"), is_guarded("name-case")
    (True, True, False)
    """
    return code in _CODES or code.startswith(_FAMILIES)
