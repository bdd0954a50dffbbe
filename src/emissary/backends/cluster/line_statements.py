"""The statements that look at the line of lanes and take from its front, on PostgreSQL, each with a sentence.

None begins at the very beginning of an index: what has left the line may still be there. Where the line begins is told
by `lookout`. A row that this transaction has locked is found by its place (ctid), since an index leads to each of its
earlier versions first; whoever is told of a place by another transaction compares the key as well.
"""

from emissary.backends.cluster.statements import BLOCKED

__all__ = ["FRONT", "HOLD", "LOOK", "NEXT_READY_AT", "ONE_AT_A_TIME", "PICK_READY", "SEEN", "WAKE", "WAKES_AT"]

SEEN, WAKES_AT = (0, -1), (0, -2)
"""Under which account and band, which nobody has, LOOK tells these."""

# The first ready lane of each account and band, and when the next waiting lane wakes: no earlier than was seen before,
# but for what was placed by transactions that were not seen then. The upper bound tells the planner that they are few.
LOOK = """
WITH news AS MATERIALIZED (
    SELECT tenant, band, rank, state, ready_at FROM lanes
    WHERE placed_by >= $1::text::xid8 AND placed_by <= '9223372036854775807'::xid8 AND state IN (1, 2)
), ready AS (
    SELECT tenant, band, rank FROM news WHERE state = 1
    UNION ALL
    SELECT known.tenant, known.band, first.rank
    FROM unnest($2::integer[], $3::smallint[], $4::bigint[]) AS known (tenant, band, rank) CROSS JOIN LATERAL (
        SELECT rank FROM lanes WHERE state = 1 AND tenant = known.tenant AND band = known.band AND rank >= known.rank
        ORDER BY rank LIMIT 1) AS first
)
SELECT tenant, band, min(rank) AS value FROM ready GROUP BY tenant, band
UNION ALL SELECT 0, -1, pg_snapshot_xmin(pg_current_snapshot())::text::bigint
UNION ALL SELECT 0, -2, least((SELECT min(ready_at) FROM news WHERE state = 2),
    (SELECT ready_at FROM lanes WHERE state = 2 AND ready_at >= $5 ORDER BY ready_at LIMIT 1))
"""

# Waiting lanes whose time has come become ready; a lease that ran out is given up with it.
WAKE = """
WITH woken AS (
    UPDATE lanes SET state = 1, holder = NULL, reason = NULL
    WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM lanes WHERE state = 2 AND ready_at <= $1 AND ready_at >= $2 ORDER BY ready_at LIMIT 10000
        FOR UPDATE SKIP LOCKED))
    RETURNING tenant, band, rank)
SELECT tenant, band, min(rank) AS rank, count(*) AS number FROM woken GROUP BY tenant, band
"""

_CHAINS = "unnest($1::integer[], $2::smallint[], $3::bigint[]) AS chains (tenant, band, rank)"

# Where lanes in hand are limited, one counts them and takes more at a time: else two would find the same room.
ONE_AT_A_TIME = """
SELECT pg_advisory_xact_lock(7734, 0) WHERE $1 OR EXISTS (SELECT 1 FROM tenants WHERE most_active IS NOT NULL)
"""

# The first ready lanes, over all accounts that may have more in hand. $5 is how many an account may have that has no
# limit of its own.
PICK_READY = f"""
WITH chains AS (SELECT * FROM {_CHAINS}), room (tenant, most) AS (
    SELECT payers.tenant, CASE WHEN coalesce(most_active, $5::integer) IS NULL THEN $4::integer
        ELSE least($4::integer, greatest(coalesce(most_active, $5::integer) - (
            SELECT count(*) FROM lanes WHERE holder IS NOT NULL AND tenant = payers.tenant), 0)) END
    FROM (SELECT DISTINCT tenant FROM chains) AS payers JOIN tenants ON tenants.id = payers.tenant
), ranked AS (
    SELECT found.place, found.id, found.low_rank, found.rank,
        row_number() OVER (PARTITION BY room.tenant ORDER BY found.rank) AS turn, room.most
    FROM room JOIN chains ON chains.tenant = room.tenant CROSS JOIN LATERAL (
        SELECT ctid AS place, id, low_rank, rank FROM lanes
        WHERE state = 1 AND tenant = room.tenant AND band = chains.band AND lanes.rank >= chains.rank
            AND flow NOT IN {BLOCKED}
        ORDER BY lanes.rank LIMIT room.most FOR UPDATE SKIP LOCKED) AS found
)
SELECT place, id, low_rank FROM ranked WHERE turn <= most ORDER BY rank, id LIMIT $4
"""

# Lease the lanes, which are locked; the fence grows with every lease.
HOLD = """
UPDATE lanes SET state = 2, ready_at = $4, holder = $5, fence = fence + 1, reason = 'leased', taken_rank = given.taken,
    taken_at = $6
FROM unnest($1::integer[], $2::tid[], $3::bigint[]) AS given (id, place, taken)
WHERE lanes.ctid = given.place AND lanes.id = given.id
RETURNING lanes.id, key, fence, gap_ms, stretch, strikes, rank, lanes.ctid
"""

# The very front of the ready lanes, but for these lanes.
FRONT = f"""
SELECT found.rank, found.flow
FROM {_CHAINS} CROSS JOIN LATERAL (
    SELECT rank, flow FROM lanes
    WHERE state = 1 AND tenant = chains.tenant AND band = chains.band AND lanes.rank >= chains.rank
        AND id <> ALL ($4::integer[]) AND flow NOT IN {BLOCKED}
    ORDER BY lanes.rank LIMIT 1) AS found
ORDER BY found.rank LIMIT 1
"""

# When the next waiting lane will be ready.
NEXT_READY_AT = "SELECT ready_at FROM lanes WHERE state = 2 AND ready_at >= $1 ORDER BY ready_at LIMIT 1"
