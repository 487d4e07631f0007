"""Tables of databases and files: each reader gives the same values, and `table_capabilities` makes
capabilities of them.
"""
