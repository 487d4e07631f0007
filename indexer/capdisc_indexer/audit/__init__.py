"""What a client shows of the skills in an index, what they cost, and where they compete."""
