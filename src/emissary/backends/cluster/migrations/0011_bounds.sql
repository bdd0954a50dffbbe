-- Nothing that stands in a lane, free or not, has a rank below low_rank: whoever looks for its items begins there, and
-- not where it all began, since what has left a lane cannot be cleared away while somebody reads for long. Whoever gives
-- a lane back or places it raises the bound to what stands there first; whoever puts something in line lowers it.
ALTER TABLE lanes ADD COLUMN low_rank bigint NOT NULL DEFAULT -9223372036854775808;

-- What never changes of a flow. Its row changes with every submission, and whoever searches for it meets each of its
-- earlier versions; lanes ask for this whenever they are placed. A trigger writes it, so that nobody can forget to.
LOCK TABLE flows IN SHARE ROW EXCLUSIVE MODE;  -- none is made between those that are copied and the trigger

CREATE TABLE flow_owners (
    flow     integer PRIMARY KEY REFERENCES flows (id) ON DELETE CASCADE,
    tenant   integer NOT NULL,
    of_batch boolean NOT NULL
);

-- The name of a flow of single jobs has a bar in it, and that of a batch has none.
INSERT INTO flow_owners (flow, tenant, of_batch) SELECT id, tenant, key NOT LIKE '%|%' FROM flows;

CREATE FUNCTION note_flow_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO flow_owners (flow, tenant, of_batch) VALUES (NEW.id, NEW.tenant, NEW.key NOT LIKE '%|%');
    RETURN NULL;
END $$;

CREATE TRIGGER flows_note_owner AFTER INSERT ON flows FOR EACH ROW EXECUTE FUNCTION note_flow_owner();

-- Nobody asks when an empty lane was placed.
DROP INDEX lanes_placed;
CREATE INDEX lanes_placed ON lanes (placed_by) WHERE state IN (1, 2);
