"""What this plug-in adds: `run`, the gateway to MCP servers, and documents from the network."""

from __future__ import annotations

from capdisc_indexer.plugins.plugin import Plugin, PluginCommand

PLUGIN = Plugin(
    name="run",
    commands={
        "run": PluginCommand(
            about="Run a capability, once you have approved it.",
            function="capdisc_run.run_command:run",
            below="graph",
        )
    },
    services={
        "runner": "capdisc_run.approved_runs",
        "agent-runner": "capdisc_run.approved_runs",
        "servers": "capdisc_run.gateway_servers",
        "server-lists": "capdisc_run.server_sources",
        "server-tools": "capdisc_run.server_tools",
        "gateway": "capdisc_run.gateway_service",
        "gateway-setup": "capdisc_run.setup_gateway",
        "web": "capdisc_run.download",
    },
)
