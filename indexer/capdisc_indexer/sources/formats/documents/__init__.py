"""Documents by section: each format gives its pieces in order, which are cut alike and become
capabilities.
"""
