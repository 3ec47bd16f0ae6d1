"""Schema inference: statistics of tables, guesses from them, and the `.pg` text that states every guess."""
