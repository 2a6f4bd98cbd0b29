-- try_key_lock is key_lock for one who does not wait.
CREATE FUNCTION leasehold.try_key_lock(of_kind smallint, of_name text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT pg_try_advisory_xact_lock(leasehold.key_number(of_kind, of_name))
$$;

-- sweep removes some of what has ended and what nobody has looked at since, so many rows at a time. take calls it now and then. It waits for nobody.
CREATE FUNCTION leasehold.sweep() RETURNS void LANGUAGE plpgsql SET enable_seqscan = on AS $$
DECLARE
	now_at timestamptz := clock_timestamp();
	h leasehold.holders;
	w leasehold.waiters;
	l leasehold.latches;
BEGIN
	-- Names that are free, and have not been taken for a moment.
	DELETE FROM leasehold.holders WHERE ctid = ANY (ARRAY(
		SELECT f.ctid FROM leasehold.holders f
		WHERE f.slot = 0 AND f.expires = '-infinity' AND f.upto > '0' AND f.granted < now_at - interval '2s' LIMIT 4096
		FOR UPDATE SKIP LOCKED));
	-- What is left of others becomes free, so that the next time removes it.
	FOR h IN SELECT * FROM leasehold.holders
		WHERE expires <= now_at AND (slot > 0 OR expires > '-infinity' OR upto = '0' AND granted < now_at - interval '2s') LIMIT 256
	LOOP
		CONTINUE WHEN NOT leasehold.try_key_lock(h.kind, h.name);
		PERFORM FROM leasehold.holders WHERE kind = h.kind AND name = h.name AND slot = 0 FOR NO KEY UPDATE SKIP LOCKED;
		CONTINUE WHEN NOT FOUND;
		PERFORM leasehold.clear(h.kind, h.name);
		PERFORM leasehold.leave(h.kind, h.name);
	END LOOP;
	FOR w IN SELECT * FROM leasehold.waiters WHERE joined < now_at - interval '10s' LIMIT 256 LOOP
		IF leasehold.try_key_lock(w.kind, w.name) AND NOT leasehold.waits(w) THEN
			DELETE FROM leasehold.waiters x WHERE x.kind = w.kind AND x.name = w.name AND x.seq = w.seq AND NOT leasehold.waits(x);
		END IF;
	END LOOP;
	FOR l IN SELECT * FROM leasehold.latches WHERE expires <= now_at LIMIT 256 LOOP
		IF leasehold.try_key_lock(3::smallint, l.name) THEN
			DELETE FROM leasehold.latches x WHERE x.name = l.name AND x.expires <= clock_timestamp();
			IF FOUND THEN
				DELETE FROM leasehold.latch_downs d WHERE d.name = l.name;
			END IF;
		END IF;
	END LOOP;
END
$$;

-- sweep_leak removes what was left behind of a key: of holders, or of waiters, rows up to a number that have been of no use for 5 s, or a latch of a
-- generation. It lets the next waiter in, and reports whether there was something to remove.
CREATE FUNCTION leasehold.sweep_leak(of_kind smallint, of_name text, of_waiters boolean, up_to bigint) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	before timestamptz := clock_timestamp() - interval '5s';
	found_ bigint;
	swept  boolean;
BEGIN
	IF of_kind = 3 THEN
		IF leasehold.key_lock(of_kind, of_name) THEN
			PERFORM leasehold.refuse();
		END IF;
		DELETE FROM leasehold.latches WHERE name = of_name AND generation = up_to AND expires <= before;
		swept := FOUND;
		IF swept THEN
			DELETE FROM leasehold.latch_downs WHERE name = of_name;
		END IF;
		RETURN swept;
	END IF;
	PERFORM leasehold.enter(of_kind, of_name);
	IF of_waiters THEN
		DELETE FROM leasehold.waiters w WHERE kind = of_kind AND name = of_name AND seq <= up_to AND joined <= before AND NOT leasehold.waits(w);
		swept := FOUND;
	ELSE
		SELECT count(*) INTO found_ FROM leasehold.holders
			WHERE kind = of_kind AND name = of_name AND token <= up_to AND expires <= before AND expires > '-infinity';
		PERFORM leasehold.clear(of_kind, of_name);
		swept := found_ > (SELECT count(*) FROM leasehold.holders
			WHERE kind = of_kind AND name = of_name AND token <= up_to AND expires <= before AND expires > '-infinity');
	END IF;
	PERFORM leasehold.serve(of_kind, of_name, NULL, NOT leasehold.open());
	RETURN swept;
END
$$;
