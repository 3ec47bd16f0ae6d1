"""HTTP: the Lance namespace over REST."""
