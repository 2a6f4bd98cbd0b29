-- What is stored under the names of locks. Files that were created without this table get it when they are opened.
-- Programs that do not know the table leave it alone.
CREATE TABLE IF NOT EXISTS data (
	name   TEXT    PRIMARY KEY,
	token  INTEGER NOT NULL, -- of the lease under which it was stored
	number INTEGER NOT NULL, -- counts what was stored under the grant
	value  BLOB    NOT NULL  -- empty: it was removed
) STRICT, WITHOUT ROWID;
