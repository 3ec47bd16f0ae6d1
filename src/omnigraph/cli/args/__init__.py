"""Arguments and options that commands share: addresses, files, queries, settings."""
