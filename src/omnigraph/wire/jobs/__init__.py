"""JSON forms of jobs over a whole type: entity resolution, documents."""
