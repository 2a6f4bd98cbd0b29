-- The usual case of contention has a short way: an exclusive lock, a queue behind its holder, and waiters that listen. take_shut and release_shut try it
-- first, and shut_at_once does it for many names. Everything else goes the long way, before anything has changed.

-- join_queue puts an owner into the queue of an exclusive lock whose key is locked. The arguments are those of take. Answers with the time, the end of the lease
-- in the way, both in microseconds, and how many wait in front; or with nothing if it has done nothing, as this is not the usual case.
CREATE FUNCTION leasehold.join_queue(of_name text, by_owner text, lasts interval, many integer, at_listener bigint, with_ticket bigint,
	as_holder text, longest interval, most integer) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	few   CONSTANT integer := 64; -- so many waiters are counted: one behind more of them polls as seldom
	at    timestamptz := clock_timestamp();
	ends  timestamptz;
	ahead integer;
BEGIN
	-- A name with a queue has a first row that is shut, and no other row, as its holder excludes everybody.
	SELECT held.expires, (SELECT count(*) FROM (SELECT FROM leasehold.waiters WHERE kind = 1 AND name = of_name LIMIT few) AS first)
		INTO ends, ahead
		FROM leasehold.holders held, leasehold.alive mark
		WHERE held.kind = 1 AND held.name = of_name AND held.slot = 0 AND held.upto = '0' AND held.mode = 0
			AND held.owner <> by_owner AND held.expires > at
			AND mark.id = leasehold.here('leasehold.origin') AND mark.opens <= at AND mark.longest >= join_queue.longest;
	IF ahead < least(few, most) THEN
		INSERT INTO leasehold.waiters (kind, name, seq, owner, mode, weight, size, tokens, ttl, listener, ticket, alive_until, joined, holder)
			VALUES (1, of_name, nextval('leasehold.tokens'), by_owner, 0, 1, 1, least(many, 64), lasts, at_listener, with_ticket,
				at + interval '3s', at, as_holder)
			ON CONFLICT DO NOTHING;
		IF FOUND THEN
			RETURN ARRAY[leasehold.micros(at), leasehold.micros(ends), ahead];
		END IF;
	END IF;
	RETURN NULL;
END
$$;

-- release_to_head gives an exclusive lock, whose key is locked, from its holder to the head of the queue, and tells it. Answers whether it has. If it has not, it
-- has changed nothing, as this is not the usual case.
CREATE FUNCTION leasehold.release_to_head(of_name text, by_owner text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	at    timestamptz := clock_timestamp();
	head  record;            -- the head of the queue, and place, the row of the holder
	next  leasehold.waiters; -- who waits behind it
	polls boolean;           -- next has polled before, and is to know when the lease of head ends
	lease interval;
	first bigint;
BEGIN
	-- A row changes hands only if no transaction guards it: then it can be locked at once.
	SELECT mine.ctid AS place, queued.* INTO head
		FROM leasehold.holders mine, leasehold.alive mark, LATERAL (
			SELECT * FROM leasehold.waiters WHERE kind = 1 AND name = of_name ORDER BY kind, name, seq LIMIT 1) AS queued
		WHERE mine.kind = 1 AND mine.name = of_name AND mine.slot = 0 AND mine.upto = '0' AND mine.mode = 0
			AND mine.owner = by_owner AND mine.expires > at
			AND mark.id = leasehold.here('leasehold.origin') AND mark.opens <= at
		FOR UPDATE OF mine SKIP LOCKED;
	IF head.mode = 0 AND head.listener IS NOT NULL AND NOT pg_try_advisory_xact_lock_shared(head.listener) THEN
		SELECT * INTO next FROM leasehold.waiters WHERE kind = 1 AND name = of_name AND seq > head.seq ORDER BY kind, name, seq LIMIT 1;
		-- Whoever listens polls for the first time within two seconds, and is told afterwards, as by serve.
		polls := coalesce(next.listener IS NOT NULL AND next.joined <= at - interval '2s', false);
		IF polls AND pg_try_advisory_xact_lock_shared(next.listener) THEN
			RETURN false; -- it is dead
		END IF;
		lease := least(head.ttl, interval '5s');
		UPDATE leasehold.holders
			SET token = nextval('leasehold.tokens'), tokens = head.tokens, owner = head.owner, weight = head.weight,
				expires = at + lease, granted = at, holder = head.holder
			WHERE ctid = head.place
			RETURNING token INTO first;
		DELETE FROM leasehold.waiters WHERE kind = 1 AND name = of_name AND seq = head.seq;
		PERFORM pg_notify('leasehold_' || head.listener, concat_ws(' ', 'g', head.ticket, first, head.tokens,
			(extract(epoch FROM lease) * 1000000)::bigint, leasehold.micros(at), (next.seq IS NOT NULL)::integer));
		IF polls THEN
			PERFORM pg_notify('leasehold_' || next.listener,
				concat_ws(' ', 'h', leasehold.hint(next.ticket), (extract(epoch FROM lease) * 1000000)::bigint));
		END IF;
		RETURN true;
	END IF;
	RETURN false;
END
$$;

-- take_shut is take for a name that may not be free. most: how many may wait, 0 for no limit. Answers with -1 tokens if there is no room in the queue.
CREATE OR REPLACE FUNCTION leasehold.take_shut(of_kind smallint, of_name text, by_owner text, in_mode smallint, of_weight integer, of_size integer,
	lasts interval, many integer, joins boolean, at_listener bigint, with_ticket bigint, as_holder text, longest interval, guarded boolean,
	most integer)
RETURNS bigint[] LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	setting text;
	joined  bigint[];
BEGIN
	IF joins AND most > 0 THEN
		setting := set_config('synchronous_commit', 'off', true);
		setting := set_config('enable_seqscan', 'off', true); -- costs less than SET at the function
		IF of_kind = 1 AND in_mode = 0 AND at_listener IS NOT NULL THEN
			IF leasehold.key_lock(of_kind, of_name) THEN
				PERFORM leasehold.refuse();
			END IF;
			joined := leasehold.join_queue(of_name, by_owner, lasts, many, at_listener, with_ticket, as_holder, longest, most);
			IF joined IS NOT NULL THEN
				RETURN ARRAY[NULL, NULL, joined[1], NULL, joined[2], joined[3], 0];
			END IF;
		END IF;
		PERFORM leasehold.enter(of_kind, of_name);
		IF leasehold.crowded(of_kind, of_name, by_owner, most) THEN
			RETURN ARRAY[NULL, -1];
		END IF;
	END IF;
	RETURN leasehold.take_shut(of_kind, of_name, by_owner, in_mode, of_weight, of_size,
		lasts, many, joins, at_listener, with_ticket, as_holder, longest, guarded);
END
$$;

-- release_shut is release for a name that others may wait for.
CREATE OR REPLACE FUNCTION leasehold.release_shut(of_kind smallint, of_name text, by_owner text, keep interval) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	setting text;
	ended   timestamptz; -- when the lease ends or has ended; NULL if there is none
	held    boolean;
BEGIN
	setting := set_config('synchronous_commit', 'off', true);
	setting := set_config('enable_seqscan', 'off', true); -- costs less than SET at the function
	setting := set_config('jit', 'off', true);
	IF of_kind = 1 AND keep IS NULL THEN
		IF leasehold.key_lock(of_kind, of_name) THEN
			PERFORM leasehold.refuse();
		END IF;
		IF leasehold.release_to_head(of_name, by_owner) THEN
			RETURN true;
		END IF;
	END IF;
	PERFORM leasehold.enter(of_kind, of_name);
	-- A transaction that has locked the row keeps it until its end. Nobody waits for that here: the lease is over, and the row not free.
	SELECT h.expires INTO ended FROM leasehold.holders h
		WHERE h.kind = of_kind AND h.name = of_name AND h.owner = by_owner FOR NO KEY UPDATE;
	IF ended > clock_timestamp() OR keep IS NULL THEN
		UPDATE leasehold.holders SET owner = NULL, expires = clock_timestamp() + coalesce(keep, interval '0')
			WHERE kind = of_kind AND name = of_name AND owner = by_owner;
	END IF;
	held := coalesce(ended > clock_timestamp(), false);
	IF NOT held THEN
		DELETE FROM leasehold.waiters WHERE owner = by_owner AND kind = of_kind AND name = of_name;
	END IF;
	PERFORM leasehold.serve(of_kind, of_name, NULL, NOT leasehold.open());
	RETURN held;
END
$$;

-- shut_at_once releases locks to those who wait for them, and joins queues, for many callers in one transaction: the usual cases, and names that nobody else
-- works on at this moment. The others are for release_shut and take_shut. It waits for nobody.
-- ended, ending: the names that are let go, and their owners. names and the other lists: what join_queue wants to know, for each.
-- Answers with 1 or 0 for each that is let go, whether it is done; and with what join_queue answers for each that joins, which is 0 three times if it is not done.
CREATE FUNCTION leasehold.shut_at_once(ended text[], ending text[], names text[], owners text[], lasts interval[], many integer[],
	listeners bigint[], tickets bigint[], as_holders text[], longest interval, most integer[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	setting text;
	answer  bigint[] := '{}';
	joined  bigint[];
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM leasehold.refuse();
	END IF;
	setting := set_config('synchronous_commit', 'off', true);
	setting := set_config('enable_seqscan', 'off', true);
	FOR i IN 1 .. cardinality(ended) LOOP
		IF pg_try_advisory_xact_lock(leasehold.key_number(1::smallint, ended[i])) THEN
			answer := answer || leasehold.release_to_head(ended[i], ending[i])::integer::bigint;
		ELSE
			answer := answer || 0::bigint;
		END IF;
	END LOOP;
	FOR i IN 1 .. cardinality(names) LOOP
		joined := NULL;
		IF pg_try_advisory_xact_lock(leasehold.key_number(1::smallint, names[i])) THEN
			joined := leasehold.join_queue(names[i], owners[i], lasts[i], many[i], listeners[i], tickets[i], as_holders[i], longest, most[i]);
		END IF;
		answer := answer || coalesce(joined, '{0,0,0}');
	END LOOP;
	RETURN answer;
END
$$;

-- The functions look up a few rows by their keys, for which one plan is as good for all arguments. PostgreSQL would plan many of their statements again at each call,
-- as it does not know how long that takes here: four fifths of the time of at_once. Functions that only others call need no setting of their own.
DO $$
DECLARE
	one oid;
BEGIN
	FOR one IN SELECT p.oid FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_class AS c ON c.relnamespace OPERATOR(pg_catalog.=) p.pronamespace
		WHERE c.oid OPERATOR(pg_catalog.=) 'leasehold.meta'::pg_catalog.regclass
			AND p.proname OPERATOR(pg_catalog.=) ANY (ARRAY['take', 'take_shut', 'take_all', 'at_once', 'shut_at_once', 'renew', 'release', 'release_shut',
				'force_release', 'downgrade', 'latch_set', 'latch_down', 'latch_wait']::pg_catalog.name[])
	LOOP
		EXECUTE pg_catalog.format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan', one::pg_catalog.regprocedure);
	END LOOP;
END
$$;

-- A function is put in place where it is called only if it promises no more than what it calls: IMMUTABLE was too much for these, which were parsed anew at each call.
ALTER FUNCTION leasehold.micros(timestamptz) STABLE;
ALTER FUNCTION leasehold.hint(bigint) STABLE;

-- open reports whether leases are granted. It looks into a table, so it cannot be put in place, and keeps its plan only in this language.
CREATE OR REPLACE FUNCTION leasehold.open() RETURNS boolean LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN EXISTS (SELECT FROM leasehold.alive WHERE id = leasehold.here('leasehold.origin') AND opens <= clock_timestamp());
END
$$;
