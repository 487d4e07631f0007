"""What the discovery tools look at, made of the open index and the surroundings."""

from __future__ import annotations

from functools import cache

from capdisc.args import query_options
from capdisc.context import open_index
from capdisc.output import console
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.tools import ToolContext
from capdisc_indexer.tools.tool_types import Executor


def build_tool_context(
    ctx: open_index.CommandContext, mode: str | None = None, execute: Executor | None = None
) -> ToolContext:
    """The desk of this index. The encoder is loaded when a tool first needs it; why it cannot be
    is said once.
    """
    return ToolContext(
        index=ctx.index,
        encoder=cache(lambda: _load_encoder(ctx)),
        available=lambda header: open_index.is_available(ctx.runtime, header),
        environ=ctx.runtime.environ,
        state_dir=ctx.runtime.state_dir(),
        mode=query_options.retrieval_mode(ctx, mode),
        execute=execute,
    )


def _load_encoder(ctx: open_index.CommandContext) -> Encoder | None:
    encoder, why = query_options.try_load_encoder(ctx, None)
    if encoder is None and ctx.index.matrix is not None:
        console.print_notice(f"notice: searching by words alone{why and f' ({why})'}")
    return encoder
