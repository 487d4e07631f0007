"""What `capdisc setup` knows of clients, and how it changes their settings files."""
