"""Questions about the declarations of a ``.pg`` text, and edits of them."""
