-- at_once releases and takes locks of many callers in one transaction: those whose first row is all that it needs, and that nobody works on at this
-- moment. The others are for release and take. It locks rows without waiting for others, but for those who make a row of a name that it is about to make:
-- in the order of names, and before anything else.
-- ended, ending: the names that are let go, and their owners. names, owners, lasts, many, as_holders: what take wants to know of an exclusive lock.
-- longest: the longest lease that the callers ever ask for.
-- Answers with how many it has released; the number of each among those that are asked for, from 1, below 0 if its lease was over; how many it has
-- taken; the number of each; and the first of the tokens of each.
CREATE FUNCTION leasehold.at_once(ended text[], ending text[], names text[], owners text[], lasts interval[], many integer[], as_holders text[],
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
			SELECT 1, wanted.name, at, 'leasehold.holders'::regclass, mark.longest
			FROM (SELECT DISTINCT n COLLATE "C" AS name FROM unnest(names) AS n) AS wanted, leasehold.alive mark
			WHERE mark.id = 'leasehold.alive'::regclass AND mark.opens <= at AND mark.longest >= at_once.longest
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
					AND r.home = 'leasehold.holders'::regclass
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
