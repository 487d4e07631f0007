"""Documents: each reader gives the same blocks, and `document_capabilities` makes sections and
capabilities of them.
"""
