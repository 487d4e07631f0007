"""The section of a Markdown text below a heading."""

import pytest

from capdisc_indexer.text.markdown import find_section

TEXT = """# Title

## First Part!

One.

### Inside

```
## not a heading
```

## Second `code` part

Two.

## First part

Three.
"""


@pytest.mark.parametrize(
    ("anchor", "first", "last"),
    [
        ("first-part", "## First Part!", "```"),
        ("inside", "### Inside", "```"),
        ("second-code-part", "## Second `code` part", "Two."),
        ("first-part-1", "## First part", "Three."),
        ("title", "# Title", "Three."),
    ],
)
def test_a_section_ends_before_the_next_heading_of_its_rank(anchor, first, last) -> None:
    lines = find_section(TEXT, anchor).splitlines()
    assert (lines[0], lines[-1]) == (first, last)


@pytest.mark.parametrize("anchor", ["not-a-heading", "nowhere", ""])
def test_there_is_none_for_a_heading_that_does_not_exist(anchor) -> None:
    assert find_section(TEXT, anchor) is None
