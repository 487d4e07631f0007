"""Reading the files that a capability links to while its folder changes."""

import pytest

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_indexer.model.types import Descriptor, SourceRef
from capdisc_indexer.platforms import system
from capdisc_indexer.tools.capability_links import read_link


@pytest.fixture
def skill(tmp_path):
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "x.md").write_text("text\n")
    source = SourceRef(
        path=str(tmp_path / "guide" / "SKILL.md"), format="skill", root=str(tmp_path)
    )
    return Descriptor(id="skill:guide", kind="skill", name="guide", description="", source=source)


def test_a_folder_that_changes_while_it_is_looked_at_is_a_refusal(
    skill, tmp_path, monkeypatch
) -> None:
    def vanished(path, strict=False):
        raise FileNotFoundError(2, "No such file or directory", path)

    assert read_link(skill, "x.md", [str(tmp_path)]).text == "text\n"
    monkeypatch.setattr(system, "realpath", vanished)
    with pytest.raises(LinkRefusedError, match="cannot be followed"):
        read_link(skill, "x.md", [str(tmp_path)])


def test_a_file_that_becomes_a_link_after_the_check_is_not_followed(
    skill, tmp_path, monkeypatch
) -> None:
    from capdisc_indexer.tools import capability_links as links

    read = links.read_path

    def swapped(path, resolved, limit_bytes):
        (tmp_path / "secret").write_text("secret")
        (tmp_path / "guide" / "x.md").unlink()
        (tmp_path / "guide" / "x.md").symlink_to(tmp_path / "secret")
        return read(path, resolved, limit_bytes)

    monkeypatch.setattr(links, "read_path", swapped)
    with pytest.raises(Exception, match="became a link") as raised:
        read_link(skill, "x.md", [str(tmp_path)])
    assert "secret" not in str(raised.value)
