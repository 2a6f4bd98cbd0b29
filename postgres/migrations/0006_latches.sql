-- latch_wake tells the processes that wait for a latch to look at it.
CREATE FUNCTION leasehold.latch_wake(of_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	w leasehold.waiters;
BEGIN
	FOR w IN DELETE FROM leasehold.waiters WHERE kind = 3 AND name = of_name RETURNING * LOOP
		PERFORM pg_notify('leasehold_' || w.listener, 'l ' || of_name);
	END LOOP;
END
$$;

-- latch_set sets a latch if it is not set, or stands at zero, and reports whether it did. The attempt that has set it is told so again.
CREATE FUNCTION leasehold.latch_set(of_name text, by_id text, to_count integer, lasts interval) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	now_at timestamptz;
	latch  leasehold.latches;
BEGIN
	IF leasehold.key_lock(3::smallint, of_name) THEN
		PERFORM leasehold.refuse();
	END IF;
	now_at := clock_timestamp();
	SELECT * INTO latch FROM leasehold.latches WHERE name = of_name AND expires > now_at;
	IF FOUND AND latch.set_id = by_id THEN
		UPDATE leasehold.latches SET expires = now_at + lasts WHERE name = of_name;
		RETURN true;
	END IF;
	IF FOUND AND latch.count > 0 THEN
		RETURN false;
	END IF;
	DELETE FROM leasehold.latch_downs WHERE name = of_name;
	INSERT INTO leasehold.latches (name, generation, count, set_id, expires)
		VALUES (of_name, nextval('leasehold.tokens'), to_count, by_id, now_at + lasts)
		ON CONFLICT (name) DO UPDATE
			SET generation = excluded.generation, count = excluded.count, set_id = excluded.set_id, expires = excluded.expires;
	PERFORM leasehold.latch_wake(of_name);
	RETURN true;
END
$$;

-- latch_down takes one from the count, once for each attempt, and answers with what the latch stands at. It answers with nothing if it is not set.
CREATE FUNCTION leasehold.latch_down(of_name text, by_id text, lasts interval, OUT generation bigint, OUT count integer, OUT remains interval)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	now_at timestamptz;
	fresh  boolean := true;
BEGIN
	IF leasehold.key_lock(3::smallint, of_name) THEN
		PERFORM leasehold.refuse();
	END IF;
	now_at := clock_timestamp();
	SELECT l.generation, l.count, l.expires - now_at INTO generation, count, remains
		FROM leasehold.latches l WHERE l.name = of_name AND l.expires > now_at;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	IF count > 0 THEN
		INSERT INTO leasehold.latch_downs (name, id) VALUES (of_name, by_id) ON CONFLICT DO NOTHING;
		fresh := FOUND;
	END IF;
	IF NOT fresh THEN
		RETURN;
	END IF;
	count := greatest(count - 1, 0);
	remains := lasts;
	UPDATE leasehold.latches l SET count = latch_down.count, expires = now_at + lasts WHERE l.name = of_name;
	IF count = 0 THEN
		PERFORM leasehold.latch_wake(of_name);
	END IF;
END
$$;

-- latch_wait answers with what a latch stands at, or with nothing if it is not set. If it stands above zero, and has not been set anew, the
-- listener is told when that changes.
CREATE FUNCTION leasehold.latch_wait(of_name text, at_listener bigint, since bigint, OUT generation bigint, OUT count integer, OUT remains interval)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	now_at timestamptz;
BEGIN
	IF leasehold.key_lock(3::smallint, of_name) THEN
		PERFORM leasehold.refuse();
	END IF;
	now_at := clock_timestamp();
	SELECT l.generation, l.count, l.expires - now_at INTO generation, count, remains
		FROM leasehold.latches l WHERE l.name = of_name AND l.expires > now_at;
	IF count > 0 AND generation = since AND at_listener IS NOT NULL THEN
		INSERT INTO leasehold.waiters (kind, name, seq, owner, mode, weight, size, tokens, ttl, listener, ticket, alive_until, joined, holder)
			VALUES (3, of_name, nextval('leasehold.tokens'), at_listener::text, 0, 1, 1, 1, interval '0', at_listener, 0, NULL, now_at, '')
			ON CONFLICT (owner, kind, name) DO NOTHING;
	END IF;
END
$$;
