"""Reads data sources (tables, documents, OpenAPI, Postman, GraphQL, Python, cards), and has the
tools by which an agent asks about them.
"""
