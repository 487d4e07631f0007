"""What is wrong with capability files, for those who write them; needs no index, model or network.

`validate.validate_roots` is the whole of it on one screen; `content_rules.check_content` is the
part that a build runs too.
"""
