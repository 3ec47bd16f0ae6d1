"""HTTP in front of the route table: paths, bodies, query strings, refusals, and how answers are sent."""
