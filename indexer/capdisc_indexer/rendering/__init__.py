"""Which capabilities go into a context, how long, and in which format, within a hard limit on
tokens.

Tier 0 is an overview of the categories. It depends on the catalogue and the budget alone, so that
prompt caches hold. Tier 1 has a line for each of the first hits, tier 2 the best ones in full.
What a tier does not use, the next may. A text that is too long is shortened, then cut and marked;
what is left out is named in `dropped`.
"""
