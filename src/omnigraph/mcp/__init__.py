"""Tools for agents over a graph: the Model Context Protocol on standard streams and over HTTP."""
