"""Documents: texts of files and tables, divided into chunks and linked to the entities that they mention."""
