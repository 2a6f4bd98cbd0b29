-- The functions look rows up by their keys. That is also right when a table happens to be tiny while a plan is made, which is kept when the table has grown.
-- Hence "SET enable_seqscan = off". To the planner that makes a table without an index so dear that it would compile the query, which takes most of
-- a second in each session. Hence "SET jit = off".

-- key_number is the number of the lock of a key: see key_lock.
CREATE FUNCTION leasehold.key_number(of_kind smallint, of_name text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT hashtextextended(of_name, of_kind + 8 * 'leasehold.holders'::regclass::oid::bigint)
$$;

-- key_lock lets one transaction at a time work on a key, and waits for its turn. Where several keys are locked, it is in the order of their names. It
-- is made of one expression, so that it is put in place where it is called, as in "IF leasehold.key_lock(...) THEN RAISE": it answers with true, and has
-- locked nothing, if others' changes would not be seen after the wait.
CREATE FUNCTION leasehold.key_lock(of_kind smallint, of_name text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT current_setting('transaction_isolation') <> 'read committed' OR pg_advisory_xact_lock(leasehold.key_number(of_kind, of_name)) IS NULL
$$;

-- refuse ends a request for which key_lock has answered true.
CREATE FUNCTION leasehold.refuse() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE 'leases need the isolation level read committed, and not %', current_setting('transaction_isolation') USING ERRCODE = 'LH001';
END
$$;

-- enter locks a key, and sees to it that the name has a first row, which nobody changes without the lock of the key from then on, but to renew its
-- lease. Every function that grants or ends something begins with it, unless the first row is all that it needs.
CREATE FUNCTION leasehold.enter(of_kind smallint, of_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF leasehold.key_lock(of_kind, of_name) THEN
		PERFORM leasehold.refuse();
	END IF;
	LOOP
		UPDATE leasehold.holders SET upto = '0' WHERE kind = of_kind AND name = of_name AND slot = 0 AND upto > '0';
		EXIT WHEN FOUND OR EXISTS (SELECT FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND slot = 0 AND upto = '0');
		INSERT INTO leasehold.holders (kind, name, granted, home, upto)
			VALUES (of_kind, of_name, clock_timestamp(), 'leasehold.holders'::regclass, '0')
			ON CONFLICT DO NOTHING;
		EXIT WHEN FOUND;
	END LOOP;
END
$$;

-- intact returns until when nothing is granted, as leases may have been lost: in the past if all is well. Whoever finds that the tables have been
-- emptied closes the place for as long as the longest lease may still last, and lets tokens go on above all that may have been given: a crash
-- forgets the latest ones, of which there are surely fewer than are left out here.
-- longest: the caller asks for no longer lease than this. It is noted, on disk, before such a lease is granted.
CREATE FUNCTION leasehold.intact(longest interval) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
	mark   leasehold.alive;
	before interval;
BEGIN
	SELECT * INTO mark FROM leasehold.alive WHERE alive.id = 'leasehold.alive'::regclass;
	IF FOUND AND mark.longest >= intact.longest THEN
		RETURN mark.opens;
	END IF;
	PERFORM set_config('synchronous_commit', 'on', true);
	SELECT meta.longest INTO STRICT before FROM leasehold.meta WHERE id = 1 FOR UPDATE; -- one at a time
	UPDATE leasehold.meta SET longest = greatest(meta.longest, intact.longest) WHERE id = 1;
	UPDATE leasehold.alive SET longest = greatest(before, intact.longest) WHERE alive.id = 'leasehold.alive'::regclass RETURNING * INTO mark;
	IF NOT FOUND THEN
		PERFORM setval('leasehold.tokens',
			greatest(least(last_value + 4294967296, 9007199254740865), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
			FROM leasehold.tokens;
		-- A standby may have been promoted that has not yet heard how long the longest lease is: that of the caller counts, too.
		INSERT INTO leasehold.alive (id, opens, longest)
			VALUES ('leasehold.alive'::regclass, clock_timestamp() + greatest(before, intact.longest), greatest(before, intact.longest))
			RETURNING * INTO mark;
	END IF;
	RETURN mark.opens;
END
$$;

-- open reports whether leases are granted.
CREATE FUNCTION leasehold.open() RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT FROM leasehold.alive WHERE id = 'leasehold.alive'::regclass AND opens <= clock_timestamp())
$$;
