"""``omnigraph shell``: an interactive prompt over one graph, which also runs scripts from a pipe."""
