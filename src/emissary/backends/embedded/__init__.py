"""The embedded backend: SQLite and files in one directory, no service to install."""
