"""Defines the values that cross packages, their stored form, the errors, and `frozen`."""
