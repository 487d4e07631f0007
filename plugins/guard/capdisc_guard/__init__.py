"""Hidden text, steering text, changed definitions and masks: a library that the core calls."""
