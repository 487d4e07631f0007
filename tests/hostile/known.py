"""The cases that capdisc does not pass yet, each with what is missing. Whoever mends one takes it out here."""

from __future__ import annotations

KNOWN: dict[str, str] = {}
