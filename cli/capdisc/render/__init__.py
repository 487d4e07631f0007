"""What `capdisc render` is made of, from typed options to a context: `context.build_context` puts
the parts of the other modules together.
"""
