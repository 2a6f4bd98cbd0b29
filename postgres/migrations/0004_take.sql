-- take tries once to get a key for an owner.
-- lasts: the lease. many: tokens in a row, of which 64 are given at most. joins: one who is refused stands in the queue then.
-- listener, ticket: how it is told of a grant there; listener NULL if it comes by itself, which it must within 3 s each time.
-- longest: the longest lease that the caller ever asks for. guarded: it is refused while leases may have been lost.
-- Answers with the token (NULL if refused) and how many, and, if the name was not just free, with what take_late says beyond that, in its order, with
-- times in microseconds. An array costs less than columns. It answers with nothing if it cannot tell without take_shut, which the caller is to ask then.
CREATE FUNCTION leasehold.take(of_kind smallint, of_name text, by_owner text, in_mode smallint, of_weight integer, of_size integer,
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
				AND home = 'leasehold.holders'::regclass AND of_weight <= of_size
			RETURNING token INTO first;
		EXIT WHEN first IS NOT NULL OR attempt = 2;
		SELECT * INTO there FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND slot = 0;
		IF NOT joins AND of_kind = 1 AND there.mode = 0 AND there.owner <> by_owner AND there.expires > at
			AND there.home = 'leasehold.holders'::regclass
		THEN
			RETURN ARRAY[NULL, row_of, leasehold.micros(at), NULL, leasehold.micros(there.expires)];
		END IF;
		EXIT WHEN there.slot IS NOT NULL;
		INSERT INTO leasehold.holders (kind, name, granted, home, upto)
			SELECT of_kind, of_name, at, 'leasehold.holders'::regclass, mark.longest
			FROM leasehold.alive mark
			WHERE mark.id = 'leasehold.alive'::regclass AND mark.opens <= at AND mark.longest >= take.longest AND of_weight <= of_size
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

-- take_shut is take for a name that may not be free.
CREATE FUNCTION leasehold.take_shut(of_kind smallint, of_name text, by_owner text, in_mode smallint, of_weight integer, of_size integer,
	lasts interval, many integer, joins boolean, at_listener bigint, with_ticket bigint, as_holder text, longest interval, guarded boolean)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	answer bigint[];
BEGIN
	PERFORM set_config('synchronous_commit', 'off', true), set_config('enable_seqscan', 'off', true);
	PERFORM leasehold.enter(of_kind, of_name);
	SELECT ARRAY[token, tokens, leasehold.micros(late.at), leasehold.micros(opens), leasehold.micros(ends), ahead, waiting::integer] INTO answer
		FROM leasehold.take_late(of_kind, of_name, by_owner, in_mode, of_weight, of_size,
			lasts, least(many, 64), joins, at_listener, with_ticket, as_holder, longest, guarded) AS late;
	IF answer[1] IS NOT NULL AND leasehold.sweeps(1) THEN
		PERFORM leasehold.sweep();
	END IF;
	RETURN answer;
END
$$;

-- micros is a time in microseconds since 1970.
CREATE FUNCTION leasehold.micros(of_time timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT (extract(epoch FROM of_time) * 1000000)::bigint
$$;

-- take_late is take for a key that may not be free, once the key is locked. Answers with token (NULL if refused), tokens, and the time. Of one who
-- was refused: opens, if nothing is granted until then; ends, the first end of a lease in the way; ahead, how many wait in front. waiting: others
-- wait behind one who holds.
CREATE FUNCTION leasehold.take_late(of_kind smallint, of_name text, by_owner text, in_mode smallint, of_weight integer, of_size integer,
	lasts interval, many integer, joins boolean, at_listener bigint, with_ticket bigint, as_holder text, longest interval, guarded boolean,
	OUT token bigint, OUT tokens integer, OUT at timestamptz, OUT opens timestamptz, OUT ends timestamptz, OUT ahead integer, OUT waiting boolean)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	joined boolean := false;
	closed boolean;
	place  bigint;
BEGIN
	at := clock_timestamp();
	tokens := many;
	waiting := false;
	opens := leasehold.intact(longest);
	closed := guarded AND opens > at;
	UPDATE leasehold.holders SET expires = greatest(expires, at + lasts)
		WHERE kind = of_kind AND name = of_name AND owner = by_owner AND expires > at
		RETURNING holders.token, holders.tokens INTO take_late.token, take_late.tokens;
	IF take_late.token IS NULL THEN
		-- It stands in the queue like all others, and leaves it again if it did not want to join.
		UPDATE leasehold.waiters
			SET listener = at_listener, ticket = with_ticket, alive_until = at + interval '3s', mode = in_mode, weight = of_weight, size = of_size,
				ttl = lasts, tokens = many
			WHERE owner = by_owner AND kind = of_kind AND name = of_name RETURNING seq INTO place;
		IF NOT FOUND THEN
			joined := true;
			INSERT INTO leasehold.waiters (kind, name, seq, owner, mode, weight, size, tokens, ttl, listener, ticket, alive_until, joined, holder)
				VALUES (of_kind, of_name, nextval('leasehold.tokens'), by_owner, in_mode, of_weight, of_size, many, lasts,
					at_listener, with_ticket, at + interval '3s', at, as_holder)
				RETURNING seq INTO place;
		END IF;
		IF NOT closed THEN
			PERFORM leasehold.serve(of_kind, of_name, by_owner, opens > at);
			at := clock_timestamp();
			SELECT h.token, h.tokens INTO take_late.token, take_late.tokens
				FROM leasehold.holders h WHERE h.kind = of_kind AND h.name = of_name AND h.owner = by_owner AND h.expires > at;
		END IF;
		IF take_late.token IS NULL AND joined AND NOT joins THEN
			DELETE FROM leasehold.waiters WHERE kind = of_kind AND name = of_name AND seq = place;
		END IF;
	END IF;
	IF take_late.token IS NULL THEN
		SELECT min(expires) INTO ends FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND expires > '-infinity';
		SELECT count(*) INTO ahead FROM leasehold.waiters WHERE kind = of_kind AND name = of_name AND seq < place;
	ELSE
		waiting := EXISTS (SELECT FROM leasehold.waiters WHERE kind = of_kind AND name = of_name);
	END IF;
	IF NOT closed THEN
		opens := NULL;
	END IF;
END
$$;

-- take_all gets several locks in one step, or none: exclusive ones, each for an owner of its own, of names that are not waited for.
-- The arguments are those of take, in arrays. Answers with the first tokens, and NULL if it was refused; opens: nothing is granted until then.
CREATE FUNCTION leasehold.take_all(names text[], owners text[], lasts interval[], many integer[], as_holders text[], longest interval,
	guarded boolean, OUT first bigint[], OUT granted integer[], OUT at timestamptz, OUT opens timestamptz)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	one   bigint;
	many_ integer;
	same  text;
BEGIN
	FOR same IN SELECT n FROM unnest(names) AS n ORDER BY n COLLATE "C" LOOP
		PERFORM leasehold.enter(1::smallint, same);
	END LOOP;
	opens := leasehold.intact(longest);
	FOR i IN 1 .. cardinality(names) LOOP
		-- For one who holds already others may wait.
		CONTINUE WHEN EXISTS (SELECT FROM leasehold.holders
			WHERE kind = 1 AND name = names[i] AND owner = owners[i] AND expires > clock_timestamp());
		PERFORM leasehold.serve(1::smallint, names[i], '', NOT leasehold.open());
		IF EXISTS (SELECT FROM leasehold.holders WHERE kind = 1 AND name = names[i] AND expires > '-infinity')
			OR EXISTS (SELECT FROM leasehold.waiters WHERE kind = 1 AND name = names[i] AND owner <> owners[i])
			OR guarded AND opens > clock_timestamp()
		THEN
			IF opens <= clock_timestamp() OR NOT guarded THEN
				opens := NULL;
			END IF;
			FOREACH same IN ARRAY names LOOP
				PERFORM leasehold.leave(1::smallint, same);
			END LOOP;
			RETURN;
		END IF;
	END LOOP;
	opens := NULL;
	at := clock_timestamp();
	FOR i IN 1 .. cardinality(names) LOOP
		UPDATE leasehold.holders SET expires = greatest(expires, at + lasts[i]) WHERE kind = 1 AND name = names[i] AND owner = owners[i]
			RETURNING token, tokens INTO one, many_;
		IF NOT FOUND THEN
			DELETE FROM leasehold.waiters WHERE kind = 1 AND name = names[i] AND owner = owners[i];
			many_ := least(many[i], 64);
			one := leasehold.give(1::smallint, names[i], owners[i], 0::smallint, 1, many_, at + lasts[i], at, as_holders[i]);
		END IF;
		first := first || one;
		granted := granted || many_;
	END LOOP;
	IF leasehold.sweeps(cardinality(names)) THEN
		PERFORM leasehold.sweep();
	END IF;
END
$$;
