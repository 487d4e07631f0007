"""The rules of form, which a comment inside a file can silence; every other rule guards whoever reads the file."""

from __future__ import annotations

OF_FORM = frozenset(
    """
    allowed-tools-type ambiguous-scalar body-empty body-long byte-order-mark client-field companion-unused
    compatibility-length content-cut dependency-cycle dependency-missing description-too-long description-vague
    description-xml duplicate-field extraction-missing file-large guidance-orphan id-mismatch license-type
    line-ends-mixed link-missing metadata-shape metadata-type misnamed-manifest misspelt-field name-case
    name-characters name-clash name-folder-mismatch name-hyphens name-missing name-not-ascii name-reserved-word
    name-too-long run-shape too-many-files too-many-links unknown-field unknown-key
    """.split()
)


def is_guarded(code: str) -> bool:
    """Whether only the user's own options and settings can silence the rule.

    >>> is_guarded("hidden-text"), is_guarded("field-value"), is_guarded("name-case")
    (True, True, False)
    """
    return code not in OF_FORM
