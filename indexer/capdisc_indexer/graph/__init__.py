"""The relations between capabilities: every kind of edge with its weight, declared and derived.

`capdisc graph` shows all of them. Ranking uses only the edges that proved useful: `requirements`
and `partners` in `traversal`.
"""
