"""Reads command lines: declarations of parameters, the fast parser, and typer for the rest."""
