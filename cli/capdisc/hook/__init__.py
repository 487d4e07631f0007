"""What `capdisc hook` tells an agent's client about a prompt, and what keeps it from ever being in
the client's way.
"""
