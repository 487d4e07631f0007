"""What this plug-in adds: audits, evaluations, and stubs of functions."""

from __future__ import annotations

from capdisc_indexer.plugins.plugin import Plugin, PluginCommand

PLUGIN = Plugin(
    name="audit",
    commands={
        "audit": PluginCommand(
            about="Show which skills a client cuts or drops, and which overlap.",
            function="capdisc_audit.audit_command:audit",
            below="session",
        ),
        "eval": PluginCommand(
            about="Measure how well the index answers judged queries.",
            function="capdisc_audit.eval_command:eval_",
            below="log",
        ),
    },
    definition_formats=dict.fromkeys(("typescript", "python"), "capdisc_audit.stubs:format_stubs"),
)
