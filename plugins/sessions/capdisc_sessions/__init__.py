"""What agents found and used from turn to turn, the facts that they know, and the local log."""
