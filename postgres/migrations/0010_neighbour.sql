-- What somebody else has written into the tables keeps nobody busy for ever.

-- enter locks a key, and sees to it that the name has a first row, which nobody changes without the lock of the key from then on, but to renew its
-- lease. Every function that grants or ends something begins with it, unless the first row is all that it needs. (It went on for ever where somebody had
-- written that the first row is for leases of less than no time.)
CREATE OR REPLACE FUNCTION leasehold.enter(of_kind smallint, of_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF leasehold.key_lock(of_kind, of_name) THEN
		PERFORM leasehold.refuse();
	END IF;
	LOOP
		UPDATE leasehold.holders SET upto = '0' WHERE kind = of_kind AND name = of_name AND slot = 0 AND upto <> '0';
		EXIT WHEN FOUND OR EXISTS (SELECT FROM leasehold.holders WHERE kind = of_kind AND name = of_name AND slot = 0 AND upto = '0');
		INSERT INTO leasehold.holders (kind, name, granted, home, upto)
			VALUES (of_kind, of_name, clock_timestamp(), leasehold.here('leasehold.origin'), '0')
			ON CONFLICT DO NOTHING;
		EXIT WHEN FOUND;
	END LOOP;
END
$$;

-- micros is a time in microseconds since 1970. Whoever holds until infinity, as no engine does, holds for long.
CREATE OR REPLACE FUNCTION leasehold.micros(of_time timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT (extract(epoch FROM CASE
		WHEN isfinite(of_time) THEN of_time
		WHEN of_time > to_timestamp(0) THEN to_timestamp(7258118400)
		WHEN of_time < to_timestamp(0) THEN to_timestamp(0)
	END) * 1000000)::bigint
$$;
