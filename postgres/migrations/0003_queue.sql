-- clear removes the leases of a key that have ended, unless a transaction still has the row locked: then it counts as held.
CREATE FUNCTION leasehold.clear(of_kind smallint, of_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM leasehold.holders
	WHERE kind = of_kind AND name = of_name AND token = ANY (ARRAY(
		SELECT h.token FROM leasehold.holders h
		WHERE h.kind = of_kind AND h.name = of_name AND h.expires <= clock_timestamp()
		FOR UPDATE SKIP LOCKED));
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
		FROM leasehold.holders WHERE kind = of_kind AND name = of_name;
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
		INSERT INTO leasehold.holders (kind, name, token, tokens, owner, mode, weight, expires, granted, holder)
			VALUES (of_kind, of_name, nextval('leasehold.tokens'), w.tokens, w.owner, w.mode, w.weight, now_at + lease, now_at, w.holder)
			RETURNING token INTO first;
		DELETE FROM leasehold.waiters WHERE kind = of_kind AND name = of_name AND seq = w.seq;
		CONTINUE WHEN w.owner = asker;
		changed := true;
		PERFORM pg_notify('leasehold_' || w.listener, concat_ws(' ', 'g', w.ticket, first, w.tokens,
			(extract(epoch FROM lease) * 1000000)::bigint, (extract(epoch FROM now_at) * 1000000)::bigint,
			EXISTS (SELECT FROM leasehold.waiters WHERE kind = of_kind AND name = of_name AND seq > w.seq)::integer));
	END LOOP;
END
$$;
