"""Decides which capabilities are offered for a turn, where nobody has asked for any."""
