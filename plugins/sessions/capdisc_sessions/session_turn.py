"""One turn of an agent: `capdisc session turn` finds what a message needs, records it, and prints
the prompt and the functions of the turn.
"""

from __future__ import annotations

from capdisc.context import open_index
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc_indexer.model.types import Query
from capdisc_sessions import memory, session_files
from capdisc_sessions.session_verbs import SessionCommand


def take_turn(command: SessionCommand) -> int:
    """Print the context of the message with the memory of the session; as JSON also the
    definitions of the functions that were found in this turn and in those before.
    """
    # 80 modules that no other verb needs.
    from capdisc.commands.tool_definitions import DefinitionOptions, select_definitions
    from capdisc.render.context import build_context, remember_shown
    from capdisc.render.render_context import prepare_render
    from capdisc.render.render_notices import print_notices
    from capdisc.render.render_options import (
        LimitOptions,
        PromptOptions,
        QueryOptions,
        RenderOptions,
    )

    name, state_dir = command.name, command.state_dir
    options = RenderOptions(
        request=QueryOptions(words=[command.text()]),
        limits=LimitOptions(budget=command.max_tokens),
        prompting=PromptOptions(session=name),
    )
    with open_index.open_index(command.index_dir) as ctx:
        render_ctx = prepare_render(ctx, options)
        context = build_context(render_ctx)
        memory.announce_new_session(command.runtime, name)
        session_files.update_session(state_dir, name, lambda session: session, create=True)
        remember_shown(render_ctx, context)
        session = session_files.load_session(state_dir, name)
        defined = DefinitionOptions(progressive=True, session=name)
        definitions = select_definitions(ctx, Query(texts=()), defined)
        prompt = render_ctx.form.format_context(render_ctx.form, context)
    if command.json:
        new_ids = [key for key, entry in session.discovered.items() if entry.turn == session.turn]
        console.print_document(
            {
                "session": name,
                "turn": session.turn,
                "mode": session.mode,
                "prompt": prompt,
                "tokens": render_ctx.counter.exact(prompt),
                "found": new_ids,
                "tools": definitions.value,
            }
        )
    else:
        console.print_result(prompt)
        names = ", ".join(definitions.names.values())
        console.print_notice(f"notice: functions of this turn: {names} (--json defines them)")
    print_notices(render_ctx.relevant, render_ctx.catalogue_mode, context)
    return ExitCode.OK
