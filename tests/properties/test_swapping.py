"""Files that become links while they are read bring in nothing from outside."""

import os

from swapped_files import leaks

SWAPS = int(os.environ.get("CAPDISC_SWAPS", "2000"))


def test_a_file_swapped_for_a_link_is_not_followed(hermetic) -> None:
    swaps, _, found = leaks(hermetic, SWAPS)
    assert swaps >= SWAPS
    assert not found
