"""NaN and infinity are usage errors."""

import pytest


@pytest.mark.parametrize(
    "argv",
    [
        ("render", "merge PDF files", "--auto", "--threshold-pct", "nan"),
        ("render", "merge PDF files", "--min-relevance", "nan"),
        ("tools", "merge PDF files", "--auto", "--threshold-pct", "nan"),
        ("tools", "merge PDF files", "--min-relevance", "nan"),
        ("graph", "--min-weight", "nan"),
        ("graph", "--min-weight", "inf"),
    ],
    ids=" ".join,
)
def test_a_number_that_is_none_is_refused(small, capdisc, argv) -> None:
    done = capdisc(*argv)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
