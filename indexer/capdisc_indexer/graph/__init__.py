"""How capabilities belong together, for who wants to look at it: every kind of edge between two of
them, with weights.

Ranking uses the few edges that proved useful (`graph.py`); nothing here changes it.
"""
