"""A document from the network: only when asked for, only from public addresses, within limits of
time and size.
"""
