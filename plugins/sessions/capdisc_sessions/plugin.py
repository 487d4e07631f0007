"""What this plug-in adds: sessions, facts, the local log, and what transcripts teach."""

from __future__ import annotations

from capdisc_indexer.plugins.plugin import Plugin, PluginCommand

PLUGIN = Plugin(
    name="sessions",
    tools=("capdisc_sessions.fact_tools:TOOLS",),
    commands={
        "session": PluginCommand(
            about="Remember what an agent found and used between turns.",
            function="capdisc_sessions.session_command:session",
            below="plan",
        ),
        "log": PluginCommand(
            about="Print the local log of requests and uses (off by default).",
            function="capdisc_sessions.log_command:log",
            below="doctor",
        ),
        "learn": PluginCommand(
            about="Learn from Claude Code and Codex transcripts what you use.",
            function="capdisc_sessions.learn_command:learn",
            below="hook",
        ),
    },
    services={"sessions": "capdisc_sessions.memory", "calls": "capdisc_sessions.call_records"},
)
