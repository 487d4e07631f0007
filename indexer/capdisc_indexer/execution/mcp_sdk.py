"""The one gate to the MCP SDK, which takes half a second to import; `run` of an MCP tool and `mcp`
alone need it.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from capdisc_indexer.model.errors import InputError


def load_sdk() -> Any:
    """The parts of the SDK that are used here, and anyio, which it is written for. Raises
    InputError without the extra.
    """
    try:
        import anyio
        import mcp
        import mcp_types
        from mcp.server.lowlevel import NotificationOptions, Server
        from mcp.server.stdio import stdio_server
        from mcp.server.subscriptions import (
            InMemorySubscriptionBus,
            ListenHandler,
            ResourceUpdated,
            ToolsListChanged,
        )
        from mcp.shared.message import SessionMessage
    except ImportError as error:
        raise InputError(
            "this needs the package mcp, 2.3 or later, which is not installed",
            "install capdisc with its extra: pip install 'capdisc[mcp]'",
        ) from error
    _silence_loggers()
    return SimpleNamespace(
        anyio=anyio,
        Client=mcp.Client,
        Error=mcp.MCPError,
        types=mcp_types,
        Server=Server,
        NotificationOptions=NotificationOptions,
        stdio_server=stdio_server,
        Bus=InMemorySubscriptionBus,
        ListenHandler=ListenHandler,
        ResourceUpdated=ResourceUpdated,
        ToolsListChanged=ToolsListChanged,
        SessionMessage=SessionMessage,
    )


def _silence_loggers() -> None:
    """No tracebacks of the SDK's on stderr: what they mean is said by whoever called it."""
    import logging

    for name in ("mcp", "asyncio"):
        logger = logging.getLogger(name)
        logger.propagate = False
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
