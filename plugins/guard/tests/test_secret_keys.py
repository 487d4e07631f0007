"""Keys in printed texts: found by shape, masked in place, also where they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_guard.masking import (
    SECRET_SHAPES,
    key_prefixes,
    mask_keys,
    mask_known_keys,
    may_quote_a_key,
)

# Put together here, so that no scanner takes this file for one that holds keys.
AWS = "AKIA" + "IOSFODNN7" + "SAMPLE1"
HUB = "ghp_" + "aB3dE5gH7jK9mN1pQ3rS" + "5tU7vW9xY1zA3bC5"
TOKEN = (
    "eyJ"
    + "hbGciOiJIUzI1NiJ9q"
    + ".eyJ"
    + "zdWIiOiIxMjM0NTY3ODkw"
    + "."
    + "dozjgNryP4J3jVmNHl0w5N_Xg"
)
BLOCK = "MIIEpAIBAAKCAQEA7Jm2vQkS"
PRIVATE = f"-----BEGIN RSA PRIVATE KEY-----\n  {BLOCK}\n  {BLOCK[::-1]}\n  q4==\n  -----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("key", [AWS, HUB, TOKEN])
def test_a_key_is_masked_to_its_end_and_nothing_moves(key: str) -> None:
    for before, after in (("Use ", " here."), ("`", "`\nnext"), ("token=", "")):
        assert (
            mask_keys(f"{before}{key}{after}")
            == f"{before}{'[secret]'.ljust(len(key), '*')}{after}"
        )


def test_every_line_of_a_private_key_is_masked_and_stays_a_line() -> None:
    said = mask_keys(f"pem: |\n  {PRIVATE}\nafter: x\n")
    assert BLOCK not in said and BLOCK[::-1] not in said and "q4==" not in said
    assert said.count("\n") == PRIVATE.count("\n") + 3
    assert said.endswith("\n  -----END RSA PRIVATE KEY-----\nafter: x\n")


@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + "X" * 16,
        "AKIA" + "IOSFODNN7" + "EXAMPLE",
        "ghp_your" + "0" * 32,
        "task-list",
        "sk-learn",
        "AKIA is how they begin",
        "hf_hub",
        "",
    ],
)
def test_placeholders_and_ordinary_words_stay(text: str) -> None:
    assert mask_keys(text) == text


def test_a_key_is_known_again_where_a_message_cuts_it_or_writes_it_small() -> None:
    source = f"name: {HUB}\nother: {AWS}\n"
    for quoted in (HUB[:30], HUB.lower(), f"x-{HUB[:20]}", AWS.lower()):
        said = mask_known_keys(f"write {quoted} there", key_prefixes(source))
        assert (
            quoted[4:] not in said
            and said.endswith(" there")
            and len(said) == len(f"write {quoted} there")
        )


def test_a_message_about_a_file_without_keys_stays() -> None:
    text = "the name sk-learn-pipelines is taken"
    assert mask_known_keys(text, key_prefixes("name: sk-learn-pipelines\n")) == text
    assert not may_quote_a_key("the name has uppercase letters")


@given(st.text(alphabet="AKI20Za-_.eyJskgh\n ", max_size=300))
def test_no_text_changes_its_length_or_its_lines(text: str) -> None:
    said = mask_keys(text)
    assert [len(line) for line in said.split("\n")] == [len(line) for line in text.split("\n")]


@pytest.mark.parametrize("prefix", SECRET_SHAPES)
def test_beginnings_of_keys_without_end_take_no_time(prefix: str) -> None:
    text = f"{prefix}-" * 5_000
    assert len(mask_keys(text)) == len(text)
