"""What `capdisc mcp` serves: answers from the newest index while it changes."""
