"""Running a capability that says how: a command, a tool of an MCP server, an HTTP operation.

Three steps, each a function: `prepare` gives the exact call or all reasons why there is none,
`consent` says what must be asked first, `execute` makes the call within its limits.
"""
