"""Keeps arguments out of program text: which words of a command a program would run or obey, and
which arguments of a call would get there.

Everything reads the command as the manifest writes it, before any argument is filled in, so that
`validate`, `run` and the tools of an agent agree on it.
"""
