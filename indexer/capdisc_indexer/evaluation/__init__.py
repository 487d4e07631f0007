"""How well an index answers: judged queries in, figures with their uncertainty out."""
