"""Reads data sources: tables, documents, OpenAPI, Postman, GraphQL, Python and cards; with the tools that an
agent asks about them.
"""
