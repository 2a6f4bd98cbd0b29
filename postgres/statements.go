package postgres

// statements are the requests of an engine. Each is a single statement, so a pooler that gives each transaction another
// connection does no harm. All types are written out, so that they are the same in all query modes of pgx.
type statements struct {
	take, takeShut, takeAmong, takeAmongShut, takeAll, renew, release, releaseShut string
	atOnce, shutAtOnce, force, downgrade                                           string
	latchSet, latchDown, latchState, latchWait                                     string
	dataSet, dataSetIn, dataRead                                                   string
	moveWaiters                                                                    string
	writeRecord, trimRecords, readRecords                                          string
	keys, holders, waiters, latches                                                string
	holderLeaks, waiterLeaks, latchLeaks                                           string
	sweepLeak                                                                      string
	closedFor                                                                      string
}

func statementsIn(schema string) statements {
	in := func(text string) string { return inSchema(schema, text) }
	return statements{
		take:          in("SELECT leasehold.take" + takeArguments + ")"),
		takeShut:      in("SELECT leasehold.take_shut" + takeArguments + ")"),
		takeAmong:     in("SELECT leasehold.take" + takeArguments + ", $15::integer)"),
		takeAmongShut: in("SELECT leasehold.take_shut" + takeArguments + ", $15::integer)"),
		takeAll: in(`SELECT first, granted, opens - clock_timestamp() FROM leasehold.take_all(
			$1::text[], $2::text[], $3::interval[], $4::integer[], $5::text[], $6::interval, $7::boolean)`),
		renew:       in("SELECT leasehold.renew($1::smallint[], $2::text[], $3::text[], $4::bigint[], $5::interval[])"),
		release:     in("SELECT leasehold.release($1::smallint, $2::text, $3::text, $4::interval)"),
		releaseShut: in("SELECT leasehold.release_shut($1::smallint, $2::text, $3::text, $4::interval)"),
		atOnce: in(`SELECT leasehold.at_once(
			$1::text[], $2::text[], $3::text[], $4::text[], $5::interval[], $6::integer[], $7::text[], $8::interval)`),
		shutAtOnce: in(`SELECT leasehold.shut_at_once($1::text[], $2::text[], $3::text[], $4::text[], $5::interval[],
			$6::integer[], $7::bigint[], $8::bigint[], $9::text[], $10::interval, $11::integer[])`),
		force:     in("SELECT leasehold.force_release($1::smallint, $2::text, $3::bigint)"),
		downgrade: in("SELECT leasehold.downgrade($1::smallint, $2::text, $3::text)"),

		latchSet:  in("SELECT leasehold.latch_set($1::text, $2::text, $3::integer, $4::interval)"),
		latchDown: in("SELECT generation, count, remains FROM leasehold.latch_down($1::text, $2::text, $3::interval)"),
		latchState: in(`SELECT generation, count, ` + remaining + ` FROM leasehold.latches
			WHERE name = $1::text AND expires > clock_timestamp()`),
		latchWait: in("SELECT generation, count, remains FROM leasehold.latch_wait($1::text, $2::bigint, $3::bigint)"),

		dataSet: in("SELECT leasehold.data_set($1::text, $2::text, $3::bigint, $4::bigint, coalesce($5::bytea, ''))"),
		// No row if the lease has ended.
		dataSetIn: in(`SELECT WHERE leasehold.data_set_in($1::text, $2::bigint, coalesce($3::bytea, ''))`),
		dataRead:  in("SELECT token, number, value FROM leasehold.data WHERE name = $1::text"),

		// Rows that another request is working on are skipped: their waiters poll after this, which updates the rows.
		moveWaiters: in(`UPDATE leasehold.waiters SET listener = $1::bigint
			WHERE ctid = ANY (ARRAY(
				SELECT ctid FROM leasehold.waiters WHERE listener = $2::bigint FOR NO KEY UPDATE SKIP LOCKED))`),

		writeRecord: in(`INSERT INTO leasehold.removals (id, at, kind, name, token, holder, who, why, outcome)
			VALUES ($1::text, $2::timestamptz, $3::smallint, $4::text, $5::bigint, $6::text, $7::text, $8::text,
				$9::smallint)
			ON CONFLICT (id) DO UPDATE SET at = excluded.at, kind = excluded.kind, name = excluded.name,
				token = excluded.token, holder = excluded.holder, who = excluded.who, why = excluded.why,
				outcome = excluded.outcome`),
		trimRecords: in(`DELETE FROM leasehold.removals WHERE id IN
			(SELECT id FROM leasehold.removals ORDER BY at DESC, id DESC OFFSET $1::integer FOR UPDATE SKIP LOCKED)`),
		readRecords: in(`SELECT id, at, kind, name, token, holder, who, why, outcome FROM leasehold.removals
			WHERE isfinite(at) AND kind BETWEEN 1 AND 3 AND token BETWEEN 0 AND 9007199254740991
				AND outcome BETWEEN 0 AND 255
			ORDER BY at DESC, id DESC LIMIT $1::integer`),

		closedFor: in(closedForStatement),

		keys: in(`
			SELECT name FROM leasehold.holders
			WHERE kind = $1::smallint AND name >= $2::text AND name <= $3::text AND expires > clock_timestamp()
			UNION
			SELECT name FROM leasehold.waiters
			WHERE kind = $1::smallint AND name >= $2::text AND name <= $3::text AND ` + isAlive + `
			ORDER BY name LIMIT $4::integer`),
		latches: in(`
			SELECT name, generation, count, ` + remaining + ` FROM leasehold.latches
			WHERE name >= $1::text AND name <= $2::text AND expires > clock_timestamp()
				AND generation > 0 AND count >= 0
			ORDER BY name LIMIT $3::integer`),
		holders: in(`
			SELECT kind, name, CASE WHEN token BETWEEN 1 AND 9007199254740991 THEN token ELSE 0 END,
				(mode <> 0)::integer, weight, holder, ` + remaining + `, ` + ageOf("granted") + ` FROM leasehold.holders
			WHERE kind = $1::smallint AND name = ANY ($2::text[]) AND expires > clock_timestamp()
			ORDER BY name, token`),
		waiters: in(`
			SELECT kind, name, (mode <> 0)::integer, weight, holder, ` + ageOf("joined") + ` FROM leasehold.waiters
			WHERE kind = $1::smallint AND name = ANY ($2::text[]) AND ` + isAlive + ` ORDER BY name, seq`),

		holderLeaks: in(`
			SELECT name, count(*), max(token) FROM leasehold.holders
			WHERE kind = $1::smallint AND name >= $2::text AND name <= $3::text
				AND expires <= clock_timestamp() - interval '5s' AND expires > '-infinity'
			GROUP BY name ORDER BY name LIMIT $4::integer`),
		waiterLeaks: in(`
			SELECT name, count(*), max(seq) FROM leasehold.waiters
			WHERE kind = $1::smallint AND name >= $2::text AND name <= $3::text
				AND joined <= clock_timestamp() - interval '5s' AND NOT ` + isAlive + `
			GROUP BY name ORDER BY name LIMIT $4::integer`),
		latchLeaks: in(`
			SELECT name, 1, generation FROM leasehold.latches
			WHERE $1::smallint = 3 AND name >= $2::text AND name <= $3::text
				AND expires <= clock_timestamp() - interval '5s'
			ORDER BY name LIMIT $4::integer`),
		sweepLeak: in("SELECT leasehold.sweep_leak($1::smallint, $2::text, $3::boolean, $4::bigint)"),
	}
}

const takeArguments = `($1::smallint, $2::text, $3::text, $4::smallint, $5::integer, $6::integer, $7::interval,
	$8::integer, $9::boolean, $10::bigint, $11::bigint, $12::text, $13::interval, $14::boolean`

// remaining is what remains of a lease. Other programs may have written any time into the column, even infinity, from
// which nothing can be subtracted.
const remaining = `(least(expires, clock_timestamp() + interval '100 years') - clock_timestamp())`

// ageOf is how long ago the time in a column was.
func ageOf(column string) string {
	return "(clock_timestamp() - least(greatest(" + column + ", clock_timestamp() - interval '100 years'), " +
		"clock_timestamp()))"
}

// isAlive tells whether a waiter is alive, without taking a lock, as the SQL function waits does. pg_locks shows the
// number of an advisory lock in two columns.
const isAlive = `(CASE WHEN listener IS NULL THEN alive_until > clock_timestamp() ELSE listener IN (
	SELECT classid::bigint << 32 | objid::bigint FROM pg_locks
	WHERE locktype = 'advisory' AND objsubid = 1 AND mode = 'ExclusiveLock' AND granted) END)`
