-- The tables of a place where locks are kept. Kinds, modes and outcomes are the numbers of the Go package driver.

CREATE SCHEMA IF NOT EXISTS leasehold;

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

-- Who holds what. A row whose lease has ended may be removed by whoever can lock it, under the lock of the key (see key_lock). A transaction that
-- has locked the row FOR KEY SHARE keeps it there, and the name taken, until its end.
CREATE UNLOGGED TABLE leasehold.holders (
	kind    smallint    NOT NULL,
	name    text        NOT NULL COLLATE "C",
	token   bigint      NOT NULL, -- the first of the grant
	tokens  integer     NOT NULL, -- how many in a row belong to the grant
	owner   text        COLLATE "C", -- NULL: the owner has let go, but the name stays taken until the lease ends
	mode    smallint    NOT NULL, -- 0 excludes everybody, 1 is shared
	weight  integer     NOT NULL, -- permits of a semaphore
	expires timestamptz NOT NULL,
	granted timestamptz NOT NULL,
	holder  text        NOT NULL, -- for listings
	PRIMARY KEY (kind, name, token)
) WITH (
	fillfactor = 70,                  -- renewals find room on the same page, and need not touch the index
	vacuum_truncate = off,            -- or cleaning up would lock the table for a moment
	autovacuum_vacuum_cost_delay = 0, -- rows come and go quickly, and the table is small
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
