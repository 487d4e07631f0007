"""Pure functions on text: normalizing, stemming, hashing, counting tokens, Markdown."""
