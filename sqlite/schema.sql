-- The tables of a lock file. All times are microseconds on the clock that meta.boot names;
-- kinds and modes are the numbers of package driver.

-- The one row of facts about the file.
CREATE TABLE meta (
	id   INTEGER PRIMARY KEY CHECK (id = 1),
	boot TEXT    NOT NULL, -- the start of the machine from which expiry times count
	last INTEGER NOT NULL, -- the last token given, of all names; also the generations of latches
	mark INTEGER NOT NULL  -- flushed to disk before any token up to it is given
) STRICT;

-- Who holds what.
CREATE TABLE holders (
	kind    INTEGER NOT NULL,
	name    TEXT    NOT NULL,
	token   INTEGER NOT NULL, -- the first of the grant
	tokens  INTEGER NOT NULL, -- how many in a row belong to the grant
	owner   TEXT,             -- NULL: the owner has let go, but the lock stays taken for a while
	mode    INTEGER NOT NULL,
	weight  INTEGER NOT NULL,
	ttl     INTEGER NOT NULL, -- so that the lease can be given anew after a restart of the machine
	expires INTEGER NOT NULL,
	granted INTEGER,          -- NULL: before the machine started
	holder  TEXT    NOT NULL, -- for listings
	PRIMARY KEY (kind, name, token)
) STRICT, WITHOUT ROWID;

CREATE INDEX holders_expires ON holders (expires);

-- Who waits, in the order of seq, which is never used twice.
CREATE TABLE waiters (
	seq         INTEGER PRIMARY KEY AUTOINCREMENT,
	kind        INTEGER NOT NULL,
	name        TEXT    NOT NULL,
	owner       TEXT    NOT NULL,
	mode        INTEGER NOT NULL,
	weight      INTEGER NOT NULL,
	size        INTEGER NOT NULL, -- of the semaphore, as this waiter knows it
	alive_until INTEGER NOT NULL, -- moved on by the waiter's process; past: the waiter is dead
	joined      INTEGER NOT NULL,
	holder      TEXT    NOT NULL
) STRICT;

CREATE INDEX waiters_line ON waiters (kind, name, seq);
CREATE UNIQUE INDEX waiters_owner ON waiters (owner, kind, name);

-- Counts that go down to zero.
CREATE TABLE latches (
	name       TEXT    PRIMARY KEY,
	generation INTEGER NOT NULL, -- grows each time the latch is set
	count      INTEGER NOT NULL,
	set_id     TEXT    NOT NULL, -- the attempt that set it
	ttl        INTEGER NOT NULL,
	expires    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX latches_expires ON latches (expires);

-- The attempts that a latch has counted.
CREATE TABLE latch_downs (
	name TEXT NOT NULL,
	id   TEXT NOT NULL,
	PRIMARY KEY (name, id)
) STRICT, WITHOUT ROWID;
