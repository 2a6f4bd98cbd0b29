-- A place is recognised by a number of its own that no dump carries. The numbers of tables are not enough: a dump of a database that was restored, when
-- it is restored in the same way once more, gives the same numbers.

-- origin is why it is no dump that carries it: a dump has only the query of a materialized view, which is run anew when the dump is restored. So each
-- restored database has another random number. A crash, a restart, a promoted standby and an upgrade in place keep it. Everybody may read it: it tells
-- nothing.
CREATE MATERIALIZED VIEW leasehold.origin AS SELECT 1 AS one, gen_random_uuid() AS id;
CREATE UNIQUE INDEX origin_one ON leasehold.origin (one);
GRANT SELECT ON leasehold.origin TO PUBLIC;

-- here is the number of this place. The number of the database tells it from one that was made as its copy (CREATE DATABASE ... TEMPLATE). It is looked
-- up when a statement is planned, and costs nothing after that: the argument, which is always the view, has all statements planned anew when the view
-- is filled anew. A view that has not been filled yet is an error.
CREATE FUNCTION leasehold.here(regclass) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT hashtextextended(origin.id::text, base.oid::bigint)
	FROM leasehold.origin, pg_catalog.pg_database base WHERE origin.one = 1 AND base.datname = current_database()
$$;

-- Nobody may look at either table while they change. If a transaction that guards a lease keeps them for long, this fails, and is to be tried again.
SELECT set_config('lock_timeout', '3s', true);
LOCK TABLE leasehold.holders, leasehold.alive;

-- From now on these are the number of the place: id of the one that is intact, home of the one in which a row was made, or NULL if that is not known.
ALTER TABLE leasehold.alive ALTER COLUMN id TYPE bigint USING id::bigint;
ALTER TABLE leasehold.holders ALTER COLUMN home DROP NOT NULL;
ALTER TABLE leasehold.holders ALTER COLUMN home TYPE bigint USING NULL;

-- Of tables that were in use nobody knows whether they have been restored: they are closed as after a crash, and rows of free names are not believed.
-- What is held stays held.
DELETE FROM leasehold.alive;
INSERT INTO leasehold.alive (id, opens, longest)
	SELECT leasehold.here('leasehold.origin'), '-infinity', longest FROM leasehold.meta WHERE version = 1; -- new ones

-- The functions that knew a place by the numbers of its tables.

-- enter locks a key, and sees to it that the name has a first row, which nobody changes without the lock of the key from then on, but to renew its
-- lease. Every function that grants or ends something begins with it, unless the first row is all that it needs.
CREATE OR REPLACE FUNCTION leasehold.enter(of_kind smallint, of_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF leasehold.key_lock(of_kind, of_name) THEN
		PERFORM leasehold.refuse();
	END IF;
	LOOP
		UPDATE leasehold.holders SET upto = '0' WHERE kind = of_kind AND name = of_name AND slot = 0 AND upto > '0';
		EXIT WHEN FOUND OR EXISTS (SELECT FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND slot = 0 AND upto = '0');
		INSERT INTO leasehold.holders (kind, name, granted, home, upto)
			VALUES (of_kind, of_name, clock_timestamp(), leasehold.here('leasehold.origin'), '0')
			ON CONFLICT DO NOTHING;
		EXIT WHEN FOUND;
	END LOOP;
END
$$;

-- intact returns until when nothing is granted, as leases may have been lost: in the past if all is well. Whoever finds that the tables have been
-- emptied closes the place for as long as the longest lease may still last, and lets tokens go on above all that may have been given: a crash
-- forgets the latest ones, of which there are surely fewer than are left out here.
-- longest: the caller asks for no longer lease than this. It is noted, on disk, before such a lease is granted.
CREATE OR REPLACE FUNCTION leasehold.intact(longest interval) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
	mark   leasehold.alive;
	before interval;
BEGIN
	SELECT * INTO mark FROM leasehold.alive WHERE alive.id = leasehold.here('leasehold.origin');
	IF FOUND AND mark.longest >= intact.longest THEN
		RETURN mark.opens;
	END IF;
	PERFORM set_config('synchronous_commit', 'on', true);
	SELECT meta.longest INTO STRICT before FROM leasehold.meta WHERE id = 1 FOR UPDATE; -- one at a time
	UPDATE leasehold.meta SET longest = greatest(meta.longest, intact.longest) WHERE id = 1;
	UPDATE leasehold.alive SET longest = greatest(before, intact.longest) WHERE alive.id = leasehold.here('leasehold.origin') RETURNING * INTO mark;
	IF NOT FOUND THEN
		PERFORM setval('leasehold.tokens',
			greatest(least(last_value + 4294967296, 9007199254740865), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
			FROM leasehold.tokens;
		-- A standby may have been promoted that has not yet heard how long the longest lease is: that of the caller counts, too.
		INSERT INTO leasehold.alive (id, opens, longest)
			VALUES (leasehold.here('leasehold.origin'), clock_timestamp() + greatest(before, intact.longest), greatest(before, intact.longest))
			RETURNING * INTO mark;
	END IF;
	RETURN mark.opens;
END
$$;

-- open reports whether leases are granted.
CREATE OR REPLACE FUNCTION leasehold.open() RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT FROM leasehold.alive WHERE id = leasehold.here('leasehold.origin') AND opens <= clock_timestamp())
$$;

-- give makes somebody a holder, and answers with the first of the tokens. The first row is free, or others hold together with the new one.
CREATE OR REPLACE FUNCTION leasehold.give(of_kind smallint, of_name text, by_owner text, in_mode smallint, of_weight integer, many integer,
	until timestamptz, at timestamptz, as_holder text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	first bigint := nextval('leasehold.tokens');
BEGIN
	UPDATE leasehold.holders
		SET token = first, tokens = many, owner = by_owner, mode = in_mode, weight = of_weight, expires = until, granted = at, holder = as_holder
		WHERE kind = of_kind AND name = of_name AND slot = 0 AND expires = '-infinity';
	IF NOT FOUND THEN
		INSERT INTO leasehold.holders (kind, name, slot, token, tokens, owner, mode, weight, expires, granted, home, upto, holder)
			VALUES (of_kind, of_name, first, first, many, by_owner, in_mode, of_weight, until, at, leasehold.here('leasehold.origin'), '0', as_holder);
	END IF;
	RETURN first;
END
$$;

-- leave lets the next one take a free name by its first row alone, if nobody waits, and leases are granted.
CREATE OR REPLACE FUNCTION leasehold.leave(of_kind smallint, of_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE leasehold.holders SET upto = mark.longest, home = leasehold.here('leasehold.origin')
		FROM leasehold.alive mark
		WHERE mark.id = leasehold.here('leasehold.origin') AND mark.opens <= clock_timestamp()
			AND kind = of_kind AND name = of_name AND slot = 0 AND expires = '-infinity'
			AND NOT EXISTS (SELECT FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND slot > 0)
			AND NOT EXISTS (SELECT FROM leasehold.waiters WHERE kind = of_kind AND name = of_name);
END
$$;

-- take tries once to get a key for an owner.
-- lasts: the lease. many: tokens in a row, of which 64 are given at most. joins: one who is refused stands in the queue then.
-- listener, ticket: how it is told of a grant there; listener NULL if it comes by itself, which it must within 3 s each time.
-- longest: the longest lease that the caller ever asks for. guarded: it is refused while leases may have been lost.
-- Answers with the token (NULL if refused) and how many, and, if the name was not just free, with what take_late says beyond that, in its order, with
-- times in microseconds. An array costs less than columns. It answers with nothing if it cannot tell without take_shut, which the caller is to ask then.
CREATE OR REPLACE FUNCTION leasehold.take(of_kind smallint, of_name text, by_owner text, in_mode smallint, of_weight integer, of_size integer,
	lasts interval, many integer, joins boolean, at_listener bigint, with_ticket bigint, as_holder text, longest interval, guarded boolean)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	row_of  integer := least(many, 64);
	at      timestamptz := clock_timestamp();
	first   bigint;
	there   leasehold.holders;
	setting text;
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM leasehold.refuse();
	END IF;
	-- Nothing here must be on disk before the answer is sent: after a crash tokens go on far above those that may be missing.
	setting := set_config('synchronous_commit', 'off', true);
	setting := set_config('enable_seqscan', 'off', true); -- costs less than SET at the function
	FOR attempt IN 1 .. 2 LOOP
		-- Most often the name is free, and nobody waits. If the row changes while this waits for it, the update begins anew, with another token: tokens
		-- grow with each grant.
		UPDATE leasehold.holders
			SET token = nextval('leasehold.tokens'), tokens = row_of, owner = by_owner, mode = in_mode, weight = of_weight,
				expires = at + lasts, granted = at, holder = as_holder
			WHERE kind = of_kind AND name = of_name AND slot = 0 AND expires = '-infinity' AND upto >= take.longest
				AND home = leasehold.here('leasehold.origin') AND of_weight <= of_size
			RETURNING token INTO first;
		EXIT WHEN first IS NOT NULL OR attempt = 2;
		SELECT * INTO there FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND slot = 0;
		IF NOT joins AND of_kind = 1 AND there.mode = 0 AND there.owner <> by_owner AND there.expires > at
			AND there.home = leasehold.here('leasehold.origin')
		THEN
			RETURN ARRAY[NULL, row_of, leasehold.micros(at), NULL, leasehold.micros(there.expires)];
		END IF;
		EXIT WHEN there.slot IS NOT NULL;
		INSERT INTO leasehold.holders (kind, name, granted, home, upto)
			SELECT of_kind, of_name, at, leasehold.here('leasehold.origin'), mark.longest
			FROM leasehold.alive mark
			WHERE mark.id = leasehold.here('leasehold.origin') AND mark.opens <= at AND mark.longest >= take.longest AND of_weight <= of_size
			ON CONFLICT DO NOTHING;
		EXIT WHEN NOT FOUND;
	END LOOP;
	IF first IS NULL THEN
		-- A row that another one has just changed is locked by the attempt to change it, too. Nothing may be waited for then.
		IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
			RETURN NULL;
		END IF;
		RETURN leasehold.take_shut(of_kind, of_name, by_owner, in_mode, of_weight, of_size,
			lasts, row_of, joins, at_listener, with_ticket, as_holder, longest, guarded);
	END IF;
	IF leasehold.sweeps(1) THEN
		PERFORM leasehold.sweep();
	END IF;
	RETURN ARRAY[first, row_of];
END
$$;

-- at_once releases and takes locks of many callers in one transaction: those whose first row is all that it needs, and that nobody works on at this
-- moment. The others are for release and take. It locks rows without waiting for others, but for those who make a row of a name that it is about to make:
-- in the order of names, and before anything else.
-- ended, ending: the names that are let go, and their owners. names, owners, lasts, many, as_holders: what take wants to know of an exclusive lock.
-- longest: the longest lease that the callers ever ask for.
-- Answers with how many it has released; the number of each among those that are asked for, from 1, below 0 if its lease was over; how many it has
-- taken; the number of each; and the first of the tokens of each.
CREATE OR REPLACE FUNCTION leasehold.at_once(ended text[], ending text[], names text[], owners text[], lasts interval[], many integer[], as_holders text[],
	longest interval) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	at       timestamptz := clock_timestamp();
	places   tid[];
	released bigint[];
	taken    bigint[];
	tokens   bigint[];
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM leasehold.refuse();
	END IF;
	PERFORM set_config('synchronous_commit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
		set_config('jit', 'off', true);
	IF cardinality(names) > 0 THEN
		INSERT INTO leasehold.holders (kind, name, granted, home, upto)
			SELECT 1, wanted.name, at, leasehold.here('leasehold.origin'), mark.longest
			FROM (SELECT DISTINCT n COLLATE "C" AS name FROM unnest(names) AS n) AS wanted, leasehold.alive mark
			WHERE mark.id = leasehold.here('leasehold.origin') AND mark.opens <= at AND mark.longest >= at_once.longest
				AND (SELECT h.slot FROM leasehold.holders h WHERE h.kind = 1 AND h.name = wanted.name AND h.slot = 0) IS NULL
			ORDER BY wanted.name
			ON CONFLICT DO NOTHING;
	END IF;
	-- Rows are locked by one statement, and changed by the next, which sees them as they were when they were locked.
	IF cardinality(ended) > 0 THEN
		SELECT array_agg(mine.place), array_agg(CASE WHEN mine.expires > clock_timestamp() THEN asked.i ELSE -asked.i END) INTO places, released
			FROM unnest(ended, ending) WITH ORDINALITY AS asked (name, owner, i), LATERAL (
				SELECT r.ctid AS place, r.expires FROM leasehold.holders r
				WHERE r.kind = 1 AND r.name = asked.name AND r.slot = 0 AND r.owner = asked.owner AND r.upto > '0'
				FOR UPDATE SKIP LOCKED) AS mine;
		UPDATE leasehold.holders SET owner = NULL, expires = '-infinity', holder = '' WHERE ctid = ANY (places);
	END IF;
	IF cardinality(names) > 0 THEN
		SELECT array_agg(free.place) INTO places
			FROM unnest(names) AS asked (name), LATERAL (
				SELECT r.ctid AS place FROM leasehold.holders r
				WHERE r.kind = 1 AND r.name = asked.name AND r.slot = 0 AND r.expires = '-infinity' AND r.upto >= at_once.longest
					AND r.home = leasehold.here('leasehold.origin')
				FOR NO KEY UPDATE SKIP LOCKED) AS free;
		-- Of several who want the same name the first one gets it.
		WITH done AS (
			UPDATE leasehold.holders h
			SET (owner, tokens, expires, holder) = (
					SELECT owners[i], least(many[i], 64), at + lasts[i], as_holders[i] FROM array_position(names, h.name) AS i),
				token = nextval('leasehold.tokens'), mode = 0, weight = 1, granted = at
			WHERE ctid = ANY (places)
			RETURNING array_position(names, h.name) AS i, token)
		SELECT array_agg(done.i), array_agg(done.token) INTO taken, tokens FROM done;
		IF leasehold.sweeps(cardinality(taken)) THEN
			PERFORM leasehold.sweep();
		END IF;
	END IF;
	RETURN coalesce(cardinality(released), 0)::bigint || released || coalesce(cardinality(taken), 0)::bigint || taken || tokens;
END
$$;
