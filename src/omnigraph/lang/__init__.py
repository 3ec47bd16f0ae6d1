"""Text to syntax tree and back: the lexer, parsers and formatters of ``.pg`` and ``.gq``.

Covers grammar and positions only; ``schema`` and ``query`` resolve names and types.
"""
