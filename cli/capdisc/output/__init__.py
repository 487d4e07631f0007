"""Everything that leaves a command: streams, tables, files of the user, errors and exit codes."""
