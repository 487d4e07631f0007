"""What a changed definition of a tool newly says, takes or does that its first reader did not see.

A server that was harmless at first can change its answers later ("rug pull"). Three questions are
asked of a change: does a text newly give the model orders (`orders`), can a parameter newly carry
data away (`exfiltration`), and is the tool of another nature, program or host than before
(`comparison`)? `definition` is what is compared and remembered.
"""
