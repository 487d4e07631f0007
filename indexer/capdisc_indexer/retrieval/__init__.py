"""Answers a query: `pipeline.py` lists the stages."""
