"""One file per command: load, call the core, print, return the exit code."""
