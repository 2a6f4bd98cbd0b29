-- The tables of a place where locks are kept. Kinds, modes and outcomes are the numbers of the Go package driver.

-- IF NOT EXISTS would need the right to make schemas even where this one is there.
DO $$
BEGIN
	IF to_regnamespace(split_part('leasehold.meta', '.', 1)) IS NULL THEN
		CREATE SCHEMA leasehold;
	END IF;
END
$$;

-- The one row of facts about the place. It survives a crash, and is copied to standbys.
CREATE TABLE leasehold.meta (
	id      integer  PRIMARY KEY CHECK (id = 1),
	version integer  NOT NULL, -- the number of the latest migration
	longest interval NOT NULL  -- no lease lasts longer: for so long nothing is granted when leases may have been lost
);

-- Tokens, 64 in a row for each grant, and places in queues. It survives a crash, and is copied to standbys. A token is a number that JSON can
-- hold, up to 2^53 - 1.
CREATE SEQUENCE leasehold.tokens AS bigint INCREMENT BY 64 MINVALUE 1 MAXVALUE 9007199254740928 NO CYCLE CACHE 1;

-- Tokens begin at the clock, in microseconds, so that those of a place that is made anew are larger than those of the one before.
SELECT setval('leasehold.tokens', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);

-- Its one row says that nothing was lost: the tables below that are UNLOGGED are emptied by a crash of the server, and empty on a standby that is
-- promoted, and so is this one. A row that comes out of a backup has the number of another table.
CREATE UNLOGGED TABLE leasehold.alive (
	id      oid         PRIMARY KEY, -- the number of this table
	opens   timestamptz NOT NULL, -- until then nothing is granted
	longest interval    NOT NULL  -- that of meta
);

-- Who holds what. The first row of a name has the slot 0. It stays for a while when the name is free, so that the next one need only fill it in, which
-- changes no index: that is why no column is in one that changes then. A free row has no owner, and expires at -infinity, as a new one does. Those who
-- hold together with the first one have rows of their own, whose slot is their token.
--
-- A row may be given to somebody else, or be removed, only by one who can lock it FOR UPDATE: a transaction that has locked it FOR KEY SHARE keeps the
-- name taken until its end (see the query of a guard). One who comes too late to lock the row as it was is refused by that, too.
--
-- Most requests work on the first row of a name alone, without any other lock (take, release, at_once). They may as long as the row says so (upto):
-- nobody else holds the name then, and nobody waits. All others lock the key, and shut the row before they change anything (see enter).
CREATE UNLOGGED TABLE leasehold.holders (
	kind    smallint    NOT NULL,
	name    text        NOT NULL COLLATE "C",
	slot    bigint      NOT NULL DEFAULT 0,
	token   bigint      NOT NULL DEFAULT 0, -- the first of the grant
	tokens  integer     NOT NULL DEFAULT 0, -- how many in a row belong to the grant
	owner   text        COLLATE "C", -- NULL: the owner has let go; the name stays taken until the lease ends, and as long as a transaction keeps the row
	mode    smallint    NOT NULL DEFAULT 0, -- 0 excludes everybody, 1 is shared
	weight  integer     NOT NULL DEFAULT 1, -- permits of a semaphore
	expires timestamptz NOT NULL DEFAULT '-infinity',
	granted timestamptz NOT NULL,
	home    oid         NOT NULL, -- the number of this table, which a row out of a backup has not
	upto    interval    NOT NULL, -- of the first row: one who never asks for a longer lease than this may take and release by this row alone; 0: nobody
	holder  text        NOT NULL DEFAULT '', -- for listings
	PRIMARY KEY (kind, name, slot)
) WITH (
	fillfactor = 50,                  -- changed rows find room on the same page, and need not touch the index
	vacuum_truncate = off,            -- or cleaning up would lock the table for a moment
	autovacuum_vacuum_cost_delay = 0, -- rows change quickly, and the table is small
	autovacuum_vacuum_scale_factor = 0.05
);

-- Who waits, in the order of seq.
CREATE UNLOGGED TABLE leasehold.waiters (
	kind        smallint    NOT NULL,
	name        text        NOT NULL COLLATE "C",
	seq         bigint      NOT NULL,
	owner       text        NOT NULL COLLATE "C",
	mode        smallint    NOT NULL,
	weight      integer     NOT NULL,
	size        integer     NOT NULL, -- of the semaphore, as this waiter knows it
	tokens      integer     NOT NULL,
	ttl         interval    NOT NULL,
	listener    bigint,      -- the connection that is told of a grant; NULL: the waiter comes by itself
	ticket      bigint      NOT NULL, -- stands for the owner in messages
	alive_until timestamptz, -- NULL: as long as the listener
	joined      timestamptz NOT NULL,
	holder      text        NOT NULL,
	PRIMARY KEY (kind, name, seq)
) WITH (vacuum_truncate = off, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_scale_factor = 0.05);

CREATE UNIQUE INDEX waiters_owner ON leasehold.waiters (owner, kind, name);

-- Counts that go down to zero. They are few, and are kept over crashes.
CREATE TABLE leasehold.latches (
	name       text        PRIMARY KEY COLLATE "C",
	generation bigint      NOT NULL, -- grows each time the latch is set
	count      integer     NOT NULL,
	set_id     text        NOT NULL COLLATE "C", -- the attempt that set it
	expires    timestamptz NOT NULL
);

-- The attempts that a latch has counted.
CREATE TABLE leasehold.latch_downs (
	name text NOT NULL COLLATE "C",
	id   text NOT NULL COLLATE "C",
	PRIMARY KEY (name, id)
);

-- The locks that were taken away from their holders.
CREATE TABLE leasehold.removals (
	id      text        PRIMARY KEY COLLATE "C",
	at      timestamptz NOT NULL, -- by the clock of the one who did it
	kind    smallint    NOT NULL,
	name    text        NOT NULL,
	token   bigint      NOT NULL,
	holder  text        NOT NULL,
	who     text        NOT NULL, -- took it away
	why     text        NOT NULL,
	outcome smallint    NOT NULL
);

CREATE INDEX removals_at ON leasehold.removals (at, id);

INSERT INTO leasehold.meta (id, version, longest) VALUES (1, 1, interval '0');
INSERT INTO leasehold.alive (id, opens, longest) VALUES ('leasehold.alive'::regclass, '-infinity', interval '0');
