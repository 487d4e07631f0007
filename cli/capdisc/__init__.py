"""The terminal side of capdisc: commands, streams, exit codes. capdisc_indexer does the work."""
