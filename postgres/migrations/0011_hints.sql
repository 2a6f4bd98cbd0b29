-- Everybody who may connect to the database may listen to the messages to waiters, and send some. A grant is believed if it has the ticket of the waiter,
-- so nothing may have it that is sent before the grant. serve put it into the message that the lease in front ends at another time.

-- hint stands for a ticket in messages that are no grant. The ticket cannot be found from it.
CREATE FUNCTION leasehold.hint(ticket bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT left(encode(sha256(convert_to(ticket::text, 'UTF8')), 'hex'), 16)
$$;

-- serve lets in the longest run from the head of a queue that fits together with those who hold, and tells them. Nobody behind one who must wait
-- enters, so that a stream of readers, or of small claims, never starves a writer or a large one. The dead are passed over.
-- asker: the owner who comes by, and needs not be told; NULL if it is one who lets go.
-- closed: nothing is granted now, but to the asker.
-- The first lease of those who are told is short: they renew it at once, or are dead.
CREATE OR REPLACE FUNCTION leasehold.serve(of_kind smallint, of_name text, asker text, closed boolean) RETURNS void LANGUAGE plpgsql AS $$
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
					concat_ws(' ', 'h', leasehold.hint(w.ticket), (extract(epoch FROM next_end - now_at) * 1000000)::bigint));
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
