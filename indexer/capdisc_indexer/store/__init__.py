"""What lies on disk: documents (tantivy), vectors (LanceDB and one flat matrix), and the
generations that hold them.
"""
