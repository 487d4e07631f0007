"""Running a capability that says how: a command, a tool of an MCP server, an HTTP operation; the
gateway to the MCP servers of clients; and fetching documents.

Three steps: `prepare_call` gives the exact call or all reasons why there is none, `approvals` says
what has to be asked first, `execute_call` makes the call within its limits.
"""
