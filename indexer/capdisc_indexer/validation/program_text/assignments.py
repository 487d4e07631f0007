"""Settings of ssh and git, `name=value`, whose value is a command."""

from __future__ import annotations

import re

# ProxyCommand and its kind of ssh_config(5); of git-config(1) aliases, editors, pagers, helpers,
# filters, drivers, and what rewrites addresses, since `ext::` is an address that starts a program.
_STARTING = re.compile(
    r"command|\bcmd\b|\.cmd$|pager|editor|helper|hookspath|fsmonitor|program|alias|external|textconv"
    r"|filter|driver|process|askpass|insteadof|proxy|include|match|provider|xauth|path$|trailer",
    re.IGNORECASE,
)


def starts_programs(head: str) -> bool:
    """Whether a setting whose literal part this is can start a program by its value.

    >>> starts_programs("ProxyCommand="), starts_programs("user.name="), starts_programs("")
    (True, False, True)
    """
    name, equals, _ = head.partition("=")
    return not equals or _STARTING.search(name) is not None
