"""What this plug-in adds: sessions, facts and the local log."""

from __future__ import annotations

from capdisc_indexer.plugins.plugin import Plugin, PluginCommand

PLUGIN = Plugin(
    name="sessions",
    tools=("capdisc_sessions.fact_tools:TOOLS",),
    commands={
        "session": PluginCommand(
            about="Keep what an agent found and used from turn to turn.",
            function="capdisc_sessions.session_command:session",
            below="plan",
        ),
        "log": PluginCommand(
            about="Print the local log of requests and uses, which is off by default.",
            function="capdisc_sessions.log_command:log",
            below="doctor",
        ),
    },
    services={"sessions": "capdisc_sessions.memory"},
)
