"""The terminal side of capdisc: one file per command, streams and exit codes. All the work is in
capdisc_indexer.
"""
