"""How the index is brought up to date with the folders: `pipeline.build_index`."""
