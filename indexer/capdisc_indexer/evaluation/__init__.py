"""How well an index answers judged queries: figures with their uncertainty."""
