"""The route table: one row per operation. Routing, the OpenAPI document, the reference page and tests read it."""
