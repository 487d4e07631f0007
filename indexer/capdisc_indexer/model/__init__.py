"""The values that cross packages, their stored form, errors, and frozen classes."""
