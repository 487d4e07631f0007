"""Imports heavy and native libraries late: every one enters through a function of this module.

Cold, over a bare interpreter: tantivy 3 ms, simsimd 1, rs-bpe 30, numpy 57, lancedb 980,
sentence-transformers 3,900, onnxruntime 170. A query needs the first two.
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

# OpenSSL takes 3 ms to load, and 0.5 ms for a megabyte; Python's own code takes 3 ms for that.
_LARGE_BYTES = 1 << 18


def hex_sha256(data: bytes) -> str:
    """The SHA-256 in hexadecimal digits. The module hashlib loads OpenSSL, which a cold command
    does without unless it has much to read.
    """
    if len(data) < _LARGE_BYTES and "hashlib" not in sys.modules:
        try:
            # To import the other one first, in vain, takes 0.1 ms each time.
            if sys.version_info >= (3, 12):
                from _sha2 import sha256
            else:
                from _sha256 import sha256  # type: ignore[import-not-found]
            digits: str = sha256(data).hexdigest()
            return digits
        except ImportError:  # left out of this build of Python
            pass
    import hashlib

    return hashlib.sha256(data).hexdigest()


def blake2b() -> Any:
    """BLAKE2b by Python's own code, which hashlib gives, too, after it has loaded OpenSSL."""
    try:
        from _blake2 import blake2b as hash_type
    except ImportError:  # left out of this build of Python
        from hashlib import blake2b as hash_type
    return hash_type


def tantivy() -> Any:
    """The text index. Raises IndexStateError when it cannot be loaded, as all libraries without an
    extra do.
    """
    try:
        if "tantivy" in sys.modules or "datetime" in sys.modules:
            import tantivy
        else:
            # tantivy needs the classes in C. Before Python 3.12 the module around them is 1 ms of
            # Python code; others get it whole.
            import _datetime  # type: ignore[import-not-found]

            sys.modules["datetime"] = _datetime
            try:
                import tantivy
            finally:  # another thread may have been faster
                if sys.modules.get("datetime") is _datetime:
                    sys.modules.pop("datetime", None)
    except ImportError as error:
        raise _load_error("tantivy", error) from error
    return tantivy


def lancedb() -> Any:
    """The table of capabilities and its engine. Raises OSError when it cannot start a thread."""
    _keep_numpy_single()  # pyarrow imports it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import lancedb
        except ImportError as error:
            raise _load_error("lancedb", error) from error
        except RuntimeError as error:  # the limit of threads of this user is reached
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
    return lancedb


def lancedb_index() -> Any:
    """The types of LanceDB's indices."""
    lancedb()
    from lancedb import index

    return index


def lancedb_query() -> Any:
    """The queries of LanceDB's full text search."""
    lancedb()
    from lancedb import query

    return query


def pyarrow() -> Any:
    """Columns in memory, the input of LanceDB."""
    try:
        import pyarrow
    except ImportError as error:
        raise _load_error("pyarrow", error) from error
    return pyarrow


def parquet() -> Any:
    """The reader of Parquet files."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise _load_error("pyarrow", error) from error
    return pyarrow.parquet


def arrow_ipc() -> Any:
    """The reader of Arrow files."""
    try:
        import pyarrow.ipc
    except ImportError as error:
        raise _load_error("pyarrow", error) from error
    return pyarrow.ipc


def numpy() -> Any:
    """Arrays."""
    _keep_numpy_single()
    try:
        import numpy
    except ImportError as error:
        raise _load_error("numpy", error) from error
    return numpy


def _keep_numpy_single() -> None:
    """Keep numpy to one thread: its import starts others, which take 50 ms of CPU and then wait
    for each other. Where numpy is imported already, the variable would only reach child processes.
    """
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def graphql() -> Any:
    """The language of GraphQL schemas; only a build that reads one imports it, in 0.5 s."""
    try:
        import graphql
    except ImportError as error:
        raise _load_error("graphql-core", error) from error
    return graphql


def numpy_if_loaded() -> Any | None:
    """numpy in a process that has imported it already, else None.

    For code that has another way to the same result. While another thread imports numpy, it is in
    `sys.modules` without its content, so it is imported here, too, which waits for that thread.
    """
    return numpy() if sys.modules.get("numpy") else None


def numpy_if_installed(is_much: bool = True) -> Any | None:
    """numpy, or None in a light installation, whose builds go on without it. Where there is not
    much to do, only if it has been imported already.
    """
    if not is_much:
        return numpy_if_loaded()
    from importlib.util import find_spec

    return numpy() if find_spec("numpy") else None


def simsimd() -> Any:
    """Vector arithmetic over plain buffers."""
    import simsimd

    return simsimd


def sentence_transformers() -> Any:
    """Models of sentence-transformers. Raises EncoderError without the extra `transformers`."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        import sentence_transformers
    except ImportError as error:
        raise EncoderError(
            "this encoder needs the package sentence-transformers, which is not installed",
            f"{_extra_hint('transformers')}; or name a folder with model.onnx and tokenizer.json",
        ) from error
    return sentence_transformers


def onnx_libraries() -> tuple[Any, Any]:
    """ONNX Runtime, and the library of tokenizers. Raises EncoderError without the extra
    `onnx`.
    """
    numpy()
    try:
        import onnxruntime
        import tokenizers
    except ImportError as error:
        raise EncoderError(
            "an ONNX model needs the packages onnxruntime and tokenizers, which are not installed",
            _extra_hint("onnx"),
        ) from error
    return onnxruntime, tokenizers


def matplotlib() -> Any:
    """Charts, drawn without a display. Raises InputError without the extra `plot`."""
    try:
        import matplotlib.figure
    except ImportError as error:
        raise InputError(
            "drawing needs the package matplotlib, which is not installed",
            _extra_hint("plot"),
        ) from error
    # The same ids of shapes in every run, and text that stays text in the file.
    matplotlib.rcParams.update({"svg.hashsalt": "capdisc", "svg.fonttype": "none"})
    return matplotlib


def pypdf() -> Any:
    """The reader of PDF. Raises InputError without the extra `documents`."""
    try:
        import pypdf
    except ImportError as error:
        raise InputError(
            "PDF needs the package pypdf, which is not installed",
            _extra_hint("documents"),
        ) from error
    return pypdf


def sqlalchemy() -> Any:
    """Databases by URL; needs the driver of the database, too. Raises InputError without the extra
    `sql`.
    """
    try:
        import sqlalchemy
    except ImportError as error:
        raise InputError(
            "asking a database needs the package SQLAlchemy, which is not installed",
            _extra_hint("sql"),
        ) from error
    return sqlalchemy


def obstore() -> Any:
    """The client of object stores. Raises InputError without the extra `s3`.

    It takes 2 ms to import and has conditional writes (boto3: 600 ms; pyarrow: no conditions).
    """
    try:
        import obstore.store
    except ImportError as error:
        raise InputError(
            "an index on an object store needs the package obstore, which is not installed",
            _extra_hint("s3"),
        ) from error
    return obstore


def watchdog() -> Any:
    """Events of the file system; only `capdisc watch` imports it."""
    import watchdog.events
    import watchdog.observers

    return watchdog


def load_token_counter() -> Callable[[str], int]:
    """A function that counts o200k_base tokens exactly, by rs-bpe or, where this Python has no
    wheel of it, by toktok.
    """
    try:
        from rs_bpe.bpe import openai

        exact: Callable[[str], int] = openai.o200k_base().count
    except ImportError as error:
        try:
            count_many = load_bulk_token_counter()
        except ImportError:
            raise error from None  # rs-bpe is installed and could not be loaded

        def exact(text: str) -> int:
            return count_many([text])[0]

    return exact


def load_bulk_token_counter() -> Callable[[list[str]], list[int]]:
    """A function that counts the o200k_base tokens of each of many texts exactly, by toktok.

    It takes 0.6 s to load, where rs-bpe takes 0.05, and counts the lines of a long text in a
    quarter of the time.
    """
    import toktok

    def count_many(texts: list[str]) -> list[int]:
        counts: list[int] = toktok.batch_count(texts, "o200k_base", threads=1)
        return counts

    return count_many


def load_claude_counter() -> Callable[[str], int] | None:
    """A function that counts tokens of the newest known Claude tokenizer; None without the extra
    `claude`.

    The tokenizer is a reconstruction that counts a message, so the tokens of its frame are
    subtracted.
    """
    try:
        from ctok import token_count
    except ImportError:
        return None
    family = "4.7"  # the one that counts most
    frame_tokens = token_count("", family)
    return lambda text: int(token_count(text, family)) - frame_tokens if text else 0


def mcp_sdk() -> Any:
    """The parts of the MCP SDK that capdisc uses, and anyio (0.5 s)."""
    try:
        import anyio
        import anyio.from_thread
        import mcp
        import mcp_types
        from mcp.server.lowlevel import NotificationOptions, Server
        from mcp.server.stdio import stdio_server
        from mcp.server.subscriptions import (
            InMemorySubscriptionBus,
            ListenHandler,
            ResourcesListChanged,
            ResourceUpdated,
            ToolsListChanged,
        )
        from mcp.shared.message import SessionMessage
        from pydantic import TypeAdapter
    except ImportError as error:
        raise _load_error("mcp", error) from error
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
        ResourcesListChanged=ResourcesListChanged,
        ResourceUpdated=ResourceUpdated,
        ToolsListChanged=ToolsListChanged,
        SessionMessage=SessionMessage,
        TypeAdapter=TypeAdapter,
    )


def require_mcp(otherwise: str = "") -> None:
    """Raises InputError where the MCP SDK is not installed, with what else can be done; imports
    nothing of it.
    """
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise InputError(
            "the MCP server needs the package mcp, which is not installed",
            _extra_hint("mcp") + otherwise,
        )


def mcp_http_client() -> Any:
    """The HTTP client of the MCP SDK, and its transport for servers that speak HTTP (0.1 s more).

    Raises InputError without the extra `mcp`.
    """
    sdk = mcp_sdk()
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    return SimpleNamespace(httpx=httpx2, streamable_http_client=streamable_http_client, sdk=sdk)


def _silence_mcp_loggers() -> None:
    """Keep tracebacks of the SDK off stderr: its callers report the errors."""
    import logging

    for name in ("mcp", "asyncio", "httpx2"):
        logger = logging.getLogger(name)
        logger.propagate = False
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


def _extra_hint(extra: str) -> str:
    from capdisc_indexer.installation import extra_hint  # 10 ms, and only an error needs it

    return extra_hint(extra)


def missing_library_error(error: ModuleNotFoundError) -> IndexStateError:
    """The error for a library that is not installed: one that `capdisc validate` does without, so
    that an installation for validation alone has left it out.
    """
    from capdisc_indexer.installation import repair_hint

    name = (error.name or str(error)).partition(".")[0]
    return IndexStateError(f"this needs the library {name}, which is not installed", repair_hint())


def _load_error(name: str, error: ImportError) -> IndexStateError:
    if isinstance(error, ModuleNotFoundError):
        return missing_library_error(error)
    # The text of numpy is a page long; the message of the dynamic linker is its last line.
    reason = str(error).strip().splitlines()[-1:] or ["unknown reason"]
    return IndexStateError(
        f"the library {name} cannot be loaded: {reason[0]}",
        "raise the limit on memory (ulimit -v), or reinstall capdisc",
    )
