-- The record of forced releases. Files that were created without this table get it when they are opened. Programs that
-- do not know the table leave it alone.
CREATE TABLE IF NOT EXISTS removals (
	id      TEXT    PRIMARY KEY,
	at      INTEGER NOT NULL, -- microseconds since 1970, by the wall clock of the one who did it
	kind    INTEGER NOT NULL,
	name    TEXT    NOT NULL,
	token   INTEGER NOT NULL,
	holder  TEXT    NOT NULL,
	who     TEXT    NOT NULL, -- took it away
	why     TEXT    NOT NULL,
	outcome INTEGER NOT NULL  -- the numbers of package driver
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS removals_at ON removals (at, id);
