"""The door by which plug-ins come in: what one adds, and which ones there are."""
