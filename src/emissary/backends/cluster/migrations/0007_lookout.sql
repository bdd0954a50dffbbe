-- Which transaction last changed where a lane stands, or whether it stands in line at all. Whoever has seen the line as
-- of a snapshot finds with it what has changed since, and need not walk through all that has left the line meanwhile:
-- while somebody reads for long, none of that can be cleared away. A trigger writes it, so that nobody can forget to.
ALTER TABLE lanes ADD COLUMN placed_by xid8 NOT NULL DEFAULT '0';

CREATE INDEX lanes_placed ON lanes (placed_by);

CREATE FUNCTION note_placed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.placed_by := pg_current_xact_id();
    RETURN NEW;
END $$;

CREATE TRIGGER lanes_note_placed BEFORE INSERT OR UPDATE OF state, tenant, band, rank, ready_at ON lanes
FOR EACH ROW WHEN (NEW.state IN (1, 2)) EXECUTE FUNCTION note_placed();

-- Every change of a lane is a new version of its row, and whoever enters one into a unique index looks at each earlier
-- version there. So that no two lanes have one name is seen to in a table that does not change with them; their numbers
-- are given out once anyhow.
CREATE TABLE lane_names (key text PRIMARY KEY);

INSERT INTO lane_names (key) SELECT key FROM lanes;

ALTER TABLE lanes DROP CONSTRAINT lanes_key_key, DROP CONSTRAINT lanes_pkey;

CREATE INDEX lanes_by_id ON lanes (id);
CREATE INDEX lanes_by_key ON lanes (key);

-- A name goes with its lane, whoever drops that.
CREATE FUNCTION drop_lane_names() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        TRUNCATE lane_names;
    ELSE
        DELETE FROM lane_names USING gone WHERE lane_names.key = gone.key;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER lanes_drop_names AFTER DELETE ON lanes REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION drop_lane_names();

CREATE TRIGGER lanes_drop_all_names AFTER TRUNCATE ON lanes
FOR EACH STATEMENT EXECUTE FUNCTION drop_lane_names();
