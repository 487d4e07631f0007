"""A warm process that answers the commands which only read, and the thin client that asks it
before anything else.
"""
