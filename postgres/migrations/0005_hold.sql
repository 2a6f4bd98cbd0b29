-- renew extends leases, each by itself: it never shortens one, and never brings one back. Answers with 1 for one that is held, 0 for one that
-- is not, and NULL for one whose row another transaction changes at this moment, for which the others do not wait.
-- The tokens are those of the grants, or 0 where the caller does not know it.
CREATE FUNCTION leasehold.renew(kinds smallint[], names text[], owners text[], tokens bigint[], lasts interval[]) RETURNS integer[]
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	held   integer[] := '{}';
	slots  bigint[];
	now_at timestamptz;
BEGIN
	FOR i IN 1 .. cardinality(names) LOOP
		now_at := clock_timestamp();
		slots := CASE
			WHEN tokens[i] > 0 THEN ARRAY[0, tokens[i]]
			ELSE ARRAY(SELECT slot FROM leasehold.holders WHERE kind = kinds[i] AND name = names[i] AND owner = owners[i])
		END;
		UPDATE leasehold.holders SET expires = greatest(expires, now_at + lasts[i])
			WHERE kind = kinds[i] AND name = names[i] AND slot = (
				SELECT h.slot FROM leasehold.holders h
				WHERE h.kind = kinds[i] AND h.name = names[i] AND h.slot = ANY (slots) AND h.owner = owners[i] AND h.expires > now_at
				FOR NO KEY UPDATE SKIP LOCKED);
		held[i] := CASE
			WHEN FOUND THEN 1
			WHEN EXISTS (SELECT FROM leasehold.holders WHERE kind = kinds[i] AND name = names[i] AND owner = owners[i] AND expires > now_at) THEN NULL
			ELSE 0
		END;
	END LOOP;
	RETURN held;
END
$$;

-- release makes sure that an owner neither holds nor waits, lets the next waiter in, and reports whether the owner held.
-- keep: for how long the key stays taken, or NULL. It answers with nothing if it cannot tell without release_shut, which the caller is to ask then.
CREATE FUNCTION leasehold.release(of_kind smallint, of_name text, by_owner text, keep interval) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	setting text;
	place   tid;
	ended   timestamptz;
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM leasehold.refuse();
	END IF;
	setting := set_config('enable_seqscan', 'off', true); -- costs less than SET at the function
	IF keep IS NULL THEN
		-- Most often nobody waits, and no transaction has locked the row.
		SELECT ctid, expires INTO place, ended FROM leasehold.holders
			WHERE kind = of_kind AND name = of_name AND slot = 0 AND owner = by_owner AND upto > '0' FOR UPDATE SKIP LOCKED;
		IF place IS NOT NULL THEN
			UPDATE leasehold.holders SET owner = NULL, expires = '-infinity', holder = '' WHERE ctid = place;
			RETURN ended > clock_timestamp();
		ELSIF pg_current_xact_id_if_assigned() IS NOT NULL THEN
			RETURN NULL; -- a row that another one has just changed is locked all the same, and nothing may be waited for then
		END IF;
	END IF;
	RETURN leasehold.release_shut(of_kind, of_name, by_owner, keep);
END
$$;

-- release_shut is release for a name that others may wait for.
CREATE FUNCTION leasehold.release_shut(of_kind smallint, of_name text, by_owner text, keep interval) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	ended timestamptz; -- when the lease ends or has ended; NULL if there is none
	held  boolean;
BEGIN
	PERFORM leasehold.enter(of_kind, of_name);
	-- A transaction that has locked the row keeps it until its end. Nobody waits for that here: the lease is over, and the row not free.
	SELECT h.expires INTO ended FROM leasehold.holders h
		WHERE h.kind = of_kind AND h.name = of_name AND h.owner = by_owner FOR NO KEY UPDATE;
	IF ended > clock_timestamp() OR keep IS NULL THEN
		UPDATE leasehold.holders SET owner = NULL, expires = clock_timestamp() + coalesce(keep, interval '0')
			WHERE kind = of_kind AND name = of_name AND owner = by_owner;
	END IF;
	held := coalesce(ended > clock_timestamp(), false);
	IF NOT held THEN
		DELETE FROM leasehold.waiters WHERE owner = by_owner AND kind = of_kind AND name = of_name;
	END IF;
	PERFORM leasehold.serve(of_kind, of_name, NULL, NOT leasehold.open());
	RETURN held;
END
$$;

-- force_release ends the hold to which a token belongs, whoever has it, lets the next waiter in, and reports whether there was one.
CREATE FUNCTION leasehold.force_release(of_kind smallint, of_name text, by_token bigint) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	held boolean;
BEGIN
	PERFORM leasehold.enter(of_kind, of_name);
	UPDATE leasehold.holders SET owner = NULL, expires = clock_timestamp()
		WHERE kind = of_kind AND name = of_name AND token <= by_token AND by_token < token + tokens AND expires > clock_timestamp();
	held := FOUND;
	PERFORM leasehold.serve(of_kind, of_name, NULL, NOT leasehold.open());
	RETURN held;
END
$$;

-- downgrade turns an exclusive hold into a shared one, lets waiting readers in, and reports whether the owner holds. It is refused while a
-- transaction guards the exclusive lease: readers are not to come in before its end.
CREATE FUNCTION leasehold.downgrade(of_kind smallint, of_name text, by_owner text) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	held   boolean;
	before smallint;
BEGIN
	PERFORM leasehold.enter(of_kind, of_name);
	SELECT mode INTO before FROM leasehold.holders
		WHERE kind = of_kind AND name = of_name AND owner = by_owner AND expires > clock_timestamp() FOR NO KEY UPDATE;
	held := FOUND;
	IF before = 0 THEN
		-- The row is ours by now, but for transactions that keep it there.
		PERFORM FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND owner = by_owner FOR UPDATE SKIP LOCKED;
		IF NOT FOUND THEN
			RAISE 'a transaction guards the exclusive lease: end it first, and downgrade then' USING ERRCODE = 'LH002';
		END IF;
		UPDATE leasehold.holders SET mode = 1 WHERE kind = of_kind AND name = of_name AND owner = by_owner;
	END IF;
	PERFORM leasehold.serve(of_kind, of_name, NULL, NOT leasehold.open());
	RETURN held;
END
$$;
