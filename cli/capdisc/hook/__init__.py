"""What `capdisc hook` tells an agent's client about a prompt, without ever blocking it."""
