"""The HTTP interface as data: bodies, answers to errors, and the OpenAPI document. The server and clients share it."""
