"""What a Markdown text points to and consists of, found by walking through its lines once.

No parser of Markdown: links that span lines and headings that are underlined are not seen. Nothing
is read twice, so that no text, however it is made, takes more than time in proportion to its
length.
"""
