"""Builds an index: `pipeline.py` lists the stages."""
