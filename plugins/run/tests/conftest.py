"""A tool in a folder of its own. Requests of these tests end on this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from capdisc_indexer.model.types import Descriptor, SourceRef


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that a test did not make up is never looked up for real."""
    real = socket.getaddrinfo

    def only_here(host, *rest, **more):
        assert host in ("127.0.0.1", "localhost"), "a test reached the network"
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", only_here)


@pytest.fixture
def described(tmp_path: Path) -> Callable[..., Descriptor]:
    """A tool in a folder of its own: `described(run={...}, schema={...})`."""
    folder = tmp_path / "root" / "tool"
    folder.mkdir(parents=True)

    def make(**fields) -> Descriptor:
        source = SourceRef(
            path=str(folder / "CAPABILITY.yaml"), format="capability", root=str(tmp_path / "root")
        )
        defaults = {
            "id": "tool:probe",
            "kind": "tool",
            "name": "probe",
            "description": "A tool.",
            "source": source,
        }
        return Descriptor(**(defaults | fields))

    return make


@pytest.fixture
def make(described: Callable[..., Descriptor]) -> Callable[[object], Descriptor]:
    """The same tool with one `run` after the other."""
    from capdisc_indexer.model.frozen import replace

    plain = described()
    return lambda run: replace(plain, run=run)
