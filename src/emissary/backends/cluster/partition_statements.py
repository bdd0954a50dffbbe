"""The statements that make and drop partitions. Names and bounds are our own, and are put in as text."""

__all__ = [
    "CLOSE",
    "DROP",
    "HAS_BODIES",
    "IMPATIENT",
    "INDEX_OPEN",
    "IS_TAKEN",
    "IS_THERE",
    "KEEP_OPEN",
    "LOCK",
    "MAKE",
    "OPEN",
    "TAKE_OUT",
    "THERE",
]

# Whoever uses the table keeps us waiting, and all others queue up behind us: we give way, and try again later.
IMPATIENT = "SET LOCAL lock_timeout = '1s'"

# One at a time; given up with the transaction.
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('emissary partitions', 0))"

THERE = """
SELECT part.relname FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid
WHERE inhparent IN ('jobs'::regclass, 'results'::regclass, 'usage'::regclass)
"""

# Asked of the catalogue itself: what a session remembers of it may be older than the lock that it has waited for.
IS_THERE = """
SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = $1 AND relnamespace = current_schema()::regnamespace)
"""

IS_TAKEN = "SELECT EXISTS (SELECT 1 FROM {table}_rest WHERE {key} >= '{first}' AND {key} < '{end}')"

# The rest is looked through while this is done: made days ahead, a partition finds nothing of its own in there.
MAKE = """
CREATE TABLE {name} (LIKE {table} INCLUDING ALL) WITH (fillfactor = {fill});
ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{first}') TO ('{end}')
"""

# With this, the few jobs of an old day that have not ended are found at once.
INDEX_OPEN = "CREATE INDEX IF NOT EXISTS {name}_open ON {name} (id) WHERE state = 0"

# From here on nobody comes in: neither into the table nor, which is locked first as by everybody, into the one above.
CLOSE = "LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE; LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE"

OPEN = "SELECT count(*) FROM (SELECT 1 FROM {name} WHERE state = 0 LIMIT {most}) AS waiting"

HAS_BODIES = "SELECT EXISTS (SELECT 1 FROM {name} WHERE blob IS NOT NULL)"

TAKE_OUT = "ALTER TABLE {table} DETACH PARTITION {name}"

# What has not ended moves into the rest.
KEEP_OPEN = "INSERT INTO jobs SELECT * FROM {name} WHERE state = 0"

DROP = "DROP TABLE {name}"
