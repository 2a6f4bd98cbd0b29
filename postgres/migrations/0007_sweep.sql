-- try_key_lock is key_lock for one who does not wait.
CREATE FUNCTION leasehold.try_key_lock(of_kind smallint, of_name text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT pg_try_advisory_xact_lock(leasehold.key_number(of_kind, of_name))
$$;

-- sweeps reports whether it is time to sweep, which it is once in some thousand grants, after so many of them.
CREATE FUNCTION leasehold.sweeps(grants integer) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT random() < grants / 4096.0
$$;

-- sweep removes what has ended and what nobody has looked at since, so many rows at a time. It waits for nobody, and does nothing if another one sweeps.
CREATE FUNCTION leasehold.sweep() RETURNS void LANGUAGE plpgsql SET enable_seqscan = on AS $$
DECLARE
	now_at timestamptz := clock_timestamp();
	unused tid[] := '{}'; -- free rows that nobody has taken for a moment
	others integer := 0;  -- rows that need the lock of their key, each of which takes memory that all share
	h record;
	w leasehold.waiters;
	l leasehold.latches;
BEGIN
	IF NOT leasehold.try_key_lock(0::smallint, 'sweep') THEN
		RETURN;
	END IF;
	-- Of rows that have ended, those are left out that are free, and shut because others of the name hold or wait.
	FOR h IN SELECT ctid, kind, name, slot = 0 AND expires = '-infinity' AND upto > '0' AS free FROM leasehold.holders AS first
		WHERE expires <= now_at AND (slot > 0 OR expires > '-infinity' OR granted < now_at - interval '2s' AND (upto > '0'
			OR NOT EXISTS (SELECT FROM leasehold.holders AS other WHERE other.kind = first.kind AND other.name = first.name AND other.slot > 0)
				AND NOT EXISTS (SELECT FROM leasehold.waiters AS queued WHERE queued.kind = first.kind AND queued.name = first.name)))
		LIMIT 16384
	LOOP
		IF h.free THEN
			unused := unused || h.ctid;
			CONTINUE;
		END IF;
		CONTINUE WHEN others = 256;
		others := others + 1;
		-- It becomes free, if it is the first row, so that the next time removes it.
		CONTINUE WHEN NOT leasehold.try_key_lock(h.kind, h.name);
		PERFORM FROM leasehold.holders WHERE kind = h.kind AND name = h.name AND slot = 0 FOR NO KEY UPDATE SKIP LOCKED;
		CONTINUE WHEN NOT FOUND;
		PERFORM leasehold.clear(h.kind, h.name);
		PERFORM leasehold.leave(h.kind, h.name);
	END LOOP;
	DELETE FROM leasehold.holders WHERE ctid = ANY (ARRAY(
		SELECT f.ctid FROM leasehold.holders f
		WHERE f.ctid = ANY (unused) AND f.slot = 0 AND f.expires = '-infinity' AND f.upto > '0' AND f.granted < now_at - interval '2s'
		FOR UPDATE SKIP LOCKED));
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
