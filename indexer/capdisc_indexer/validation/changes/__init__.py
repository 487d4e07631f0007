"""What a changed definition of a tool newly says, takes or does that its first reader was not
shown.

A server that was harmless when it was looked at can change its answers later ("rug pull"). Three
questions are asked of a change: does a text newly order the model about (`orders`), can a
parameter newly carry something away (`parameters`), and is the tool of another nature, program or
host than before (`comparison`).
"""

CODE = "changed-definition"
