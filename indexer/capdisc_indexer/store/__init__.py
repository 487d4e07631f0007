"""Stores and reads an index: documents in tantivy, vectors in LanceDB and one flat matrix, and the
generations that hold them.
"""
