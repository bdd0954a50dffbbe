"""The cluster backend: PostgreSQL and an S3-compatible object store, shared by any number of processes."""
