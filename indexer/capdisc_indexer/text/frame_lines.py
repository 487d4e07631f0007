"""The lines that frame a capability in a printed context, for its printer and for whoever looks
for imitations.
"""

from __future__ import annotations

import re

# How each line of a frame begins, to see first whether it is worth looking for whole ones.
FRAME_SIGNS = (">>> ", "<<< ", "--- D")
FRAME_LINE = re.compile(
    r"^(?:>>> \S+ \[[0-9a-f]{6,}\]|<<< end \[|--- Detailed Capability Reference ---)", re.MULTILINE
)
