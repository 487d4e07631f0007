"""Discovery tools: what an agent asks to find, read and call capabilities."""
