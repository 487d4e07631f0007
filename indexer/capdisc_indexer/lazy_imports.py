"""The one gate for late imports: every heavy or native library enters through a function of this
module.

Cold, over a bare interpreter: tantivy 3 ms, simsimd 1, rs-bpe 30, numpy 57, lancedb 980,
sentence-transformers 3,900. A query needs the first two.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from capdisc_indexer.model.errors import EncoderError, IndexStateError, InputError


def tantivy() -> Any:
    """The text engine."""
    try:
        import tantivy
    except ImportError as error:
        raise _load_error("tantivy", error) from error
    return tantivy


def lancedb() -> Any:
    """The vector store; only building an index imports it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import lancedb
        except ImportError as error:
            raise _load_error("lancedb", error) from error
        except RuntimeError as error:  # it starts a thread, and this user may have no more of them
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
    return lancedb


def pyarrow() -> Any:
    """Columns in memory, as the vector store wants them."""
    try:
        import pyarrow
    except ImportError as error:
        raise _load_error("pyarrow", error) from error
    return pyarrow


def parquet() -> Any:
    """Reader of Parquet files."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise _load_error("pyarrow", error) from error
    return pyarrow.parquet


def arrow_ipc() -> Any:
    """Reader of Arrow files."""
    try:
        import pyarrow.ipc
    except ImportError as error:
        raise _load_error("pyarrow", error) from error
    return pyarrow.ipc


def numpy() -> Any:
    """Arrays; without the setting, importing it spins up threads that cost 50 ms of CPU."""
    if (
        "numpy" not in sys.modules
    ):  # a server makes its environment anew for each request where something changed it
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        import numpy
    except ImportError as error:
        raise _load_error("numpy", error) from error
    return numpy


def numpy_if_loaded() -> Any | None:
    """Arrays, in a process that has imported them: where they are quicker, and give what goes
    without them too.

    While another thread imports them, they are there by name and without their contents; an import
    waits for it.
    """
    return numpy() if sys.modules.get("numpy") else None


def simsimd() -> Any:
    """Vector kernels over plain buffers."""
    import simsimd

    return simsimd


def sentence_transformers() -> Any:
    """Any transformer by name or path; needs the extra `transformers`."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        import sentence_transformers
    except ImportError as error:
        raise EncoderError(
            "this encoder needs the package sentence-transformers, which is not installed",
            "install capdisc with its extra: pip install 'capdisc[transformers]'",
        ) from error
    return sentence_transformers


def matplotlib() -> Any:
    """Charts, drawn without a display; needs the extra `plot`."""
    try:
        import matplotlib.figure
    except ImportError as error:
        raise InputError(
            "drawing needs the package matplotlib, which is not installed",
            "install capdisc with its extra: pip install 'capdisc[plot]'",
        ) from error
    # Ids of shapes that are the same in every run, and words that stay words in the file.
    matplotlib.rcParams.update({"svg.hashsalt": "capdisc", "svg.fonttype": "none"})
    return matplotlib


def pypdf() -> Any:
    """Reader of PDF; needs the extra `documents`."""
    try:
        import pypdf
    except ImportError as error:
        raise InputError(
            "PDF needs the package pypdf, which is not installed",
            "install capdisc with its extra: pip install 'capdisc[documents]'",
        ) from error
    return pypdf


def sqlalchemy() -> Any:
    """Databases by their address; needs the extra `sql`, and the driver of the database."""
    try:
        import sqlalchemy
    except ImportError as error:
        raise InputError(
            "asking a database needs the package SQLAlchemy, which is not installed",
            "install capdisc with its extra: pip install 'capdisc[sql]'",
        ) from error
    return sqlalchemy


def obstore() -> Any:
    """Client of object stores: 2 ms of its own, and conditional writes (boto3: 600 ms; pyarrow's:
    no conditions).
    """
    try:
        import obstore.store
    except ImportError as error:
        raise InputError(
            "an index on an object store needs the package obstore, which is not installed",
            "install capdisc with its extra: pip install 'capdisc[s3]'",
        ) from error
    return obstore


def watchdog() -> Any:
    """Events of the file system; only watching imports it."""
    import watchdog.events
    import watchdog.observers

    return watchdog


def load_token_counter() -> Callable[[str], int]:
    """The exact o200k_base counter of whichever tokenizer package this Python has a wheel for."""
    try:
        from rs_bpe.bpe import openai

        exact: Callable[[str], int] = openai.o200k_base().count
    except ImportError as error:
        try:
            import toktok
        except ImportError:
            raise error from None  # the one that belongs to this Python is there, and did not load

        def exact(text: str) -> int:
            return int(toktok.batch_count([text], "o200k_base", threads=1)[0])

    return exact


def load_claude_counter() -> Callable[[str], int] | None:
    """A counter of the newest known Claude tokenizer's tokens; None where the extra `claude` is
    not installed.

    It is a reconstruction, which counts a message; the tokens of its frame are taken off again.
    """
    try:
        from ctok import token_count as counted
    except ImportError:
        return None
    family = "4.7"  # which counts most
    frame = counted("", family)
    return lambda text: int(counted(text, family)) - frame if text else 0


def mcp_sdk() -> Any:
    """The parts of the MCP SDK that are used here, and anyio, which it is written for (0.5 s).

    Raises InputError without the extra `mcp`.
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
    _silence_mcp_loggers()
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


def _silence_mcp_loggers() -> None:
    """No tracebacks of the SDK's on stderr: what they mean is said by whoever called it."""
    import logging

    for name in ("mcp", "asyncio"):
        logger = logging.getLogger(name)
        logger.propagate = False
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


def _load_error(name: str, error: ImportError) -> IndexStateError:
    """numpy's own text is a page long; what the dynamic linker says of a library is one line."""
    reason = str(error).strip().splitlines()[-1:] or ["unknown reason"]
    what = f"the library {name} cannot be loaded: {reason[0]}"
    return IndexStateError(what, "raise the limit on memory (ulimit -v), or reinstall capdisc")
