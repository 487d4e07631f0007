"""From what was typed to a printed context. `context.rendered` is the story; the other modules are
its steps.
"""
