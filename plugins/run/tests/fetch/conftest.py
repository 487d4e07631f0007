"""The servers and URLs are those of the long tests."""

from __future__ import annotations

import socket

import pytest


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch):
    """A name that a test did not make up is never looked up for real."""
    real = socket.getaddrinfo

    def only_here(host, *rest):
        assert host == "127.0.0.1", "a test reached the network"
        return real(host, *rest)

    monkeypatch.setattr(socket, "getaddrinfo", only_here)
