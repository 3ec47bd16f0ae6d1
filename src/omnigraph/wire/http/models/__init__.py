"""Bodies of the HTTP interface as pydantic models, one module per family.

Models of requests check what a client sent. Models of responses describe what the functions ``..._json`` of ``wire``
render; they are read by the OpenAPI document and by the tests, never on the way of a response. Names, fields and
required marks are those of Omnigraph 0.10; what is ours is marked with ``added``.
"""
