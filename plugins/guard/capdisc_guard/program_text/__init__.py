"""Keeps the arguments of a call out of what the programs of a command run or obey."""
