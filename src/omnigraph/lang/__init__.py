"""Text to syntax tree and back: the lexer, parsers and formatters of ``.pg`` and ``.gq``.

Knows grammar and positions only. Whether a name exists or a type fits is the business of ``schema`` and ``query``.
"""
