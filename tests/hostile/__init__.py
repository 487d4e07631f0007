"""Folders of files that break careless readers, and a judge of what capdisc makes of each."""
