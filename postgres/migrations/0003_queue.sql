-- clear frees the first row of a key, and removes the others, where the lease has ended, unless a transaction still has the row locked: then it counts
-- as held.
CREATE FUNCTION leasehold.clear(of_kind smallint, of_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE leasehold.holders SET owner = NULL, expires = '-infinity', holder = ''
	WHERE kind = of_kind AND name = of_name AND slot = (
		SELECT h.slot FROM leasehold.holders h
		WHERE h.kind = of_kind AND h.name = of_name AND h.slot = 0 AND h.expires <= clock_timestamp() AND h.expires > '-infinity'
		FOR UPDATE SKIP LOCKED);
	DELETE FROM leasehold.holders
	WHERE kind = of_kind AND name = of_name AND slot = ANY (ARRAY(
		SELECT h.slot FROM leasehold.holders h
		WHERE h.kind = of_kind AND h.name = of_name AND h.slot > 0 AND h.expires <= clock_timestamp()
		FOR UPDATE SKIP LOCKED));
END
$$;

-- give makes somebody a holder, and answers with the first of the tokens. The first row is free, or others hold together with the new one.
CREATE FUNCTION leasehold.give(of_kind smallint, of_name text, by_owner text, in_mode smallint, of_weight integer, many integer,
	until timestamptz, at timestamptz, as_holder text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	first bigint := nextval('leasehold.tokens');
BEGIN
	UPDATE leasehold.holders
		SET token = first, tokens = many, owner = by_owner, mode = in_mode, weight = of_weight, expires = until, granted = at, holder = as_holder
		WHERE kind = of_kind AND name = of_name AND slot = 0 AND expires = '-infinity';
	IF NOT FOUND THEN
		INSERT INTO leasehold.holders (kind, name, slot, token, tokens, owner, mode, weight, expires, granted, home, upto, holder)
			VALUES (of_kind, of_name, first, first, many, by_owner, in_mode, of_weight, until, at, 'leasehold.holders'::regclass, '0', as_holder);
	END IF;
	RETURN first;
END
$$;

-- leave lets the next one take a free name by its first row alone, if nobody waits, and leases are granted.
CREATE FUNCTION leasehold.leave(of_kind smallint, of_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE leasehold.holders SET upto = mark.longest, home = 'leasehold.holders'::regclass
		FROM leasehold.alive mark
		WHERE mark.id = 'leasehold.alive'::regclass AND mark.opens <= clock_timestamp()
			AND kind = of_kind AND name = of_name AND slot = 0 AND expires = '-infinity'
			AND NOT EXISTS (SELECT FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND slot > 0)
			AND NOT EXISTS (SELECT FROM leasehold.waiters WHERE kind = of_kind AND name = of_name);
END
$$;

-- waits reports whether a waiter lives: its process keeps a lock on the number of its listening connection, which nobody else gets before that
-- connection has ended. A waiter without one says from time to time that it lives.
CREATE FUNCTION leasehold.waits(w leasehold.waiters) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN w.listener IS NULL THEN w.alive_until > clock_timestamp() ELSE NOT pg_try_advisory_xact_lock_shared(w.listener) END
$$;

-- serve lets in the longest run from the head of a queue that fits together with those who hold, and tells them. Nobody behind one who must wait
-- enters, so that a stream of readers, or of small claims, never starves a writer or a large one. The dead are passed over.
-- asker: the owner who comes by, and needs not be told; NULL if it is one who lets go.
-- closed: nothing is granted now, but to the asker.
-- The first lease of those who are told is short: they renew it at once, or are dead.
CREATE FUNCTION leasehold.serve(of_kind smallint, of_name text, asker text, closed boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	now_at    timestamptz;
	inside    bigint;  -- how many hold
	permits   bigint;  -- which they have together
	exclusive boolean; -- one of them excludes everybody
	next_end  timestamptz;
	first     bigint;
	lease     interval;
	changed   boolean := asker IS NULL;
	w         leasehold.waiters;
BEGIN
	PERFORM leasehold.clear(of_kind, of_name);
	now_at := clock_timestamp();
	SELECT count(*), coalesce(sum(weight), 0), coalesce(bool_or(mode = 0), false), min(expires) INTO inside, permits, exclusive, next_end
		FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND expires > '-infinity';
	FOR w IN SELECT * FROM leasehold.waiters WHERE kind = of_kind AND name = of_name ORDER BY kind, name, seq LOOP
		IF w.owner IS DISTINCT FROM asker AND NOT leasehold.waits(w) THEN
			DELETE FROM leasehold.waiters WHERE kind = of_kind AND name = of_name AND seq = w.seq;
			CONTINUE;
		END IF;
		IF closed AND w.owner IS DISTINCT FROM asker
			OR of_kind = 2 AND permits + w.weight > w.size
			OR of_kind = 1 AND w.mode = 0 AND inside > 0
			OR of_kind = 1 AND w.mode = 1 AND exclusive
		THEN
			IF changed AND w.listener IS NOT NULL AND next_end IS NOT NULL AND w.owner IS DISTINCT FROM asker THEN
				PERFORM pg_notify('leasehold_' || w.listener,
					concat_ws(' ', 'h', w.ticket, (extract(epoch FROM next_end - now_at) * 1000000)::bigint));
			END IF;
			EXIT;
		END IF;
		inside := inside + 1;
		permits := permits + w.weight;
		exclusive := exclusive OR w.mode = 0;
		CONTINUE WHEN w.listener IS NULL AND w.owner IS DISTINCT FROM asker; -- its turn has come, and it comes for it
		lease := CASE WHEN w.owner = asker THEN w.ttl ELSE least(w.ttl, interval '5s') END;
		next_end := least(next_end, now_at + lease);
		first := leasehold.give(of_kind, of_name, w.owner, w.mode, w.weight, w.tokens, now_at + lease, now_at, w.holder);
		DELETE FROM leasehold.waiters WHERE kind = of_kind AND name = of_name AND seq = w.seq;
		CONTINUE WHEN w.owner = asker;
		changed := true;
		PERFORM pg_notify('leasehold_' || w.listener, concat_ws(' ', 'g', w.ticket, first, w.tokens,
			(extract(epoch FROM lease) * 1000000)::bigint, (extract(epoch FROM now_at) * 1000000)::bigint,
			EXISTS (SELECT FROM leasehold.waiters WHERE kind = of_kind AND name = of_name AND seq > w.seq)::integer));
	END LOOP;
	IF inside = 0 THEN
		PERFORM leasehold.leave(of_kind, of_name);
	END IF;
END
$$;
