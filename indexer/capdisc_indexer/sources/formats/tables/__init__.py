"""Tables of databases and files: each reader gives the same values, and one function makes
capabilities of them.
"""
