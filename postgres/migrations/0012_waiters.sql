-- A limit of how many wait for a key. Only whoever would stand in its queue anew is sent away.

-- crowded reports whether as many wait for a key, which is locked, as may, and somebody is not among them, and does not hold. A few of those who wait are
-- looked at, other ones each time: behind a lock that is held for long nobody else sees that they are dead, and they would fill the queue for ever. Whoever
-- is dead costs a lock on its number, of which there are not many.
CREATE FUNCTION leasehold.crowded(of_kind smallint, of_name text, by_owner text, most integer) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off AS $$
DECLARE
	waiting integer;
BEGIN
	FOR look IN 1 .. 2 LOOP
		SELECT count(*) INTO waiting FROM (
			SELECT FROM leasehold.waiters WHERE kind = of_kind AND name = of_name LIMIT most) AS those;
		IF waiting < most
			OR EXISTS (SELECT FROM leasehold.waiters WHERE owner = by_owner AND kind = of_kind AND name = of_name)
			OR EXISTS (SELECT FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND owner = by_owner
				AND expires > clock_timestamp())
		THEN
			RETURN false;
		END IF;
		EXIT WHEN look = 2;
		DELETE FROM leasehold.waiters WHERE kind = of_kind AND name = of_name AND seq IN (
			SELECT w.seq FROM (
				SELECT * FROM leasehold.waiters WHERE kind = of_kind AND name = of_name
				ORDER BY kind, name, seq OFFSET floor(random() * greatest(most - 7, 1))::integer LIMIT 8) AS w
			WHERE NOT leasehold.waits(w::leasehold.waiters));
		EXIT WHEN NOT FOUND;
	END LOOP;
	RETURN true;
END
$$;

-- take_shut is take for a name that may not be free. most: how many may wait, 0 for no limit. Answers with -1 tokens if there is no room in the queue.
CREATE FUNCTION leasehold.take_shut(of_kind smallint, of_name text, by_owner text, in_mode smallint, of_weight integer, of_size integer,
	lasts interval, many integer, joins boolean, at_listener bigint, with_ticket bigint, as_holder text, longest interval, guarded boolean,
	most integer)
RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
	IF joins AND most > 0 THEN
		PERFORM set_config('synchronous_commit', 'off', true), set_config('enable_seqscan', 'off', true);
		PERFORM leasehold.enter(of_kind, of_name);
		IF leasehold.crowded(of_kind, of_name, by_owner, most) THEN
			RETURN ARRAY[NULL, -1];
		END IF;
	END IF;
	RETURN leasehold.take_shut(of_kind, of_name, by_owner, in_mode, of_weight, of_size,
		lasts, many, joins, at_listener, with_ticket, as_holder, longest, guarded);
END
$$;

-- take tries once to get a key for an owner, who joins if there is room in the queue. It is the other take, but for that. most: how many may wait, 0 for no limit. Answers with -1 tokens if it was refused and there
-- is no room in the queue.
CREATE FUNCTION leasehold.take(of_kind smallint, of_name text, by_owner text, in_mode smallint, of_weight integer, of_size integer,
	lasts interval, many integer, joins boolean, at_listener bigint, with_ticket bigint, as_holder text, longest interval, guarded boolean,
	most integer)
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
			lasts, row_of, joins, at_listener, with_ticket, as_holder, longest, guarded, most);
	END IF;
	IF leasehold.sweeps(1) THEN
		PERFORM leasehold.sweep();
	END IF;
	RETURN ARRAY[first, row_of];
END
$$;
