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
	released bigint[];
	taken    bigint[];
	tokens   bigint[];
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM leasehold.refuse();
	END IF;
	PERFORM set_config('synchronous_commit', 'off', true), set_config('enable_seqscan', 'off', true),
		set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
	IF cardinality(names) > 0 THEN
		INSERT INTO leasehold.holders (kind, name, slot, token, tokens, owner, mode, weight, expires, granted, home, upto, holder)
			SELECT 1, wanted.name, 0, 0, 0, NULL, 0, 1, '-infinity', at, 'leasehold.holders'::regclass, mark.longest, ''
			FROM (SELECT DISTINCT n COLLATE "C" AS name FROM unnest(names) AS n) AS wanted, leasehold.alive mark
			WHERE mark.id = 'leasehold.alive'::regclass AND mark.opens <= at AND mark.longest >= at_once.longest
				AND NOT EXISTS (SELECT FROM leasehold.holders h WHERE h.kind = 1 AND h.name = wanted.name AND h.slot = 0)
			ORDER BY wanted.name
			ON CONFLICT DO NOTHING;
	END IF;
	IF cardinality(ended) > 0 THEN
		WITH done AS (
			UPDATE leasehold.holders h SET owner = NULL, expires = '-infinity', holder = ''
			FROM (
				SELECT r.ctid AS place, r.expires, asked.i
				FROM unnest(ended, ending) WITH ORDINALITY AS asked (name, owner, i)
					JOIN leasehold.holders r ON r.kind = 1 AND r.name = asked.name AND r.slot = 0
				WHERE r.owner = asked.owner AND r.upto > '0'
				FOR UPDATE OF r SKIP LOCKED) AS mine
			WHERE h.ctid = mine.place
			RETURNING CASE WHEN mine.expires > clock_timestamp() THEN mine.i ELSE -mine.i END AS i)
		SELECT array_agg(i) INTO released FROM done;
	END IF;
	IF cardinality(names) > 0 THEN
		WITH done AS (
			UPDATE leasehold.holders h
			SET token = nextval('leasehold.tokens'), tokens = least(free.many, 64), owner = free.owner, mode = 0, weight = 1,
				expires = at + free.lasts, granted = at, holder = free.as_holder
			FROM (
				SELECT r.ctid AS place, asked.*
				FROM unnest(names, owners, lasts, many, as_holders) WITH ORDINALITY AS asked (name, owner, lasts, many, as_holder, i)
					JOIN leasehold.holders r ON r.kind = 1 AND r.name = asked.name AND r.slot = 0
				WHERE r.expires = '-infinity' AND r.upto >= at_once.longest AND r.home = 'leasehold.holders'::regclass
				FOR NO KEY UPDATE OF r SKIP LOCKED) AS free
			WHERE h.ctid = free.place
			RETURNING free.i, h.token)
		SELECT array_agg(i), array_agg(token) INTO taken, tokens FROM done;
		IF EXISTS (SELECT FROM unnest(tokens) AS t WHERE t % 65536 < 64) THEN
			PERFORM leasehold.sweep();
		END IF;
	END IF;
	RETURN coalesce(cardinality(released), 0)::bigint || released || coalesce(cardinality(taken), 0)::bigint || taken || tokens;
END
$$;
