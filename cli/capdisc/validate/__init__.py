"""What `capdisc validate` is made of: the request, the report, and the formats of findings."""
