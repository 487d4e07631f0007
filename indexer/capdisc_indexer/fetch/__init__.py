"""Fetches a document from the network: only on request, only from public addresses, within limits
of time and size.
"""
