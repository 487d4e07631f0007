"""No argument in program text: which words of a command a program would run or obey, and which
arguments of a call would get there.

What is read is the command as the manifest writes it, before any argument is filled in, so that
`validate`, `run` and the tools of an agent say the same of it.
"""
