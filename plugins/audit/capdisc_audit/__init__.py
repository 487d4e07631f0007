"""Audits and evaluations of a collection, and stubs of its functions."""
