"""What the discovery tools look at, made of the open index and the surroundings."""

from __future__ import annotations

from functools import cache

from capdisc import asking, output, querying
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.tools import Desk
from capdisc_indexer.tools.values import Execute


def desk(asked: asking.Asked, mode: str | None = None, execute: Execute | None = None) -> Desk:
    """The desk of this index. The encoder is loaded when a tool first needs it; why it cannot be is said once."""
    return Desk(
        index=asked.index,
        encoder=cache(lambda: _encoder(asked)),
        available=lambda head: asking.available(asked.here, head),
        environ=asked.here.environ,
        state_dir=asked.here.state_dir(),
        mode=querying.mode_of(asked, mode),
        execute=execute,
    )


def _encoder(asked: asking.Asked) -> Encoder | None:
    encoder, why = querying.encoder_or_why(asked, None)
    if encoder is None and asked.index.matrix is not None:
        output.notice(f"notice: searching by words alone{why and f' ({why})'}")
    return encoder
