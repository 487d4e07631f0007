"""What is wrong with capability files, for whoever writes them: no index, model or network is
needed.

`pipeline` is the whole of it on one screen; `examine` is the part that a build runs too.
"""
