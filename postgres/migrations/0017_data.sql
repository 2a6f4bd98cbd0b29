-- What is stored under the names of locks. It survives a crash, and is copied to standbys.
CREATE TABLE leasehold.data (
	name   text   PRIMARY KEY COLLATE "C",
	token  bigint NOT NULL, -- of the lease under which it was stored
	number bigint NOT NULL, -- counts what was stored under the grant; 0 in a transaction
	value  bytea  NOT NULL  -- empty: it was removed
);

-- put_data stores data if it is newer than what is stored, and reports whether the latest data is that of the same lease then. The caller keeps the lock taken
-- until the end of the transaction.
CREATE FUNCTION leasehold.put_data(of_name text, at_token bigint, at_number bigint, to_value bytea) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	INSERT INTO leasehold.data AS stored (name, token, number, value) VALUES (of_name, at_token, at_number, to_value)
		ON CONFLICT (name) DO UPDATE SET token = excluded.token, number = excluded.number, value = excluded.value
			WHERE stored.token < excluded.token OR stored.token = excluded.token AND stored.number < excluded.number;
	RETURN FOUND OR EXISTS (SELECT FROM leasehold.data WHERE name = of_name AND token = at_token);
END
$$;

-- data_set stores data under the name of a lock that the owner holds exclusively, and reports whether it does. It keeps the row of the lease, as a guard
-- does, so nobody else is granted the lock before the data is there. It is on disk before the answer, whatever the session is set to.
CREATE FUNCTION leasehold.data_set(of_name text, by_owner text, at_token bigint, at_number bigint, to_value bytea) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		PERFORM leasehold.refuse();
	END IF;
	PERFORM set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off';
	PERFORM FROM leasehold.holders
		WHERE kind = 1 AND name = of_name AND owner = by_owner AND mode = 0 AND expires > clock_timestamp() FOR KEY SHARE;
	RETURN FOUND AND leasehold.put_data(of_name, at_token, at_number, to_value);
END
$$;

-- data_set_in is data_set for a transaction that does other things, too, and decides itself when that is on disk. The lease is the one with this token. Its
-- number stays, so that what the lease stores later is newer.
CREATE FUNCTION leasehold.data_set_in(of_name text, at_token bigint, to_value bytea) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	PERFORM FROM leasehold.holders
		WHERE kind = 1 AND name = of_name AND token <= at_token AND token + tokens > at_token AND owner IS NOT NULL AND mode = 0
			AND expires > clock_timestamp() FOR KEY SHARE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	INSERT INTO leasehold.data AS stored (name, token, number, value) VALUES (of_name, at_token, 0, to_value)
		ON CONFLICT (name) DO UPDATE SET token = excluded.token, value = excluded.value,
			number = CASE WHEN stored.token = excluded.token THEN stored.number ELSE 0 END
			WHERE stored.token <= excluded.token;
	RETURN FOUND;
END
$$;
