-- When the host of a robots.txt that could not answer wants to be asked again, and where one that has moved is now.
ALTER TABLE robots ADD COLUMN retry_at INTEGER;
ALTER TABLE robots ADD COLUMN location TEXT;

CREATE INDEX robots_by_age ON robots (fetched_at);
