"""What a command may know: its surroundings, settings, trust, and the open index."""
