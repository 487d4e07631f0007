"""Settings and where each comes from, client folders, declared sources, and trust."""
