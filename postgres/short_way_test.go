package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The short way through a queue, join_queue and release_to_head, does the same as the long one. Random requests run
// twice, in two schemas, one of which has only the long way. All answers, all rows and all grants that waiters receive
// must be the same, except for times and the numbers of tokens. In every third round some waiters are dead. The long
// way may find that earlier, so then only the end must be the same: nothing is left.
func TestShortWayDoesTheSame(t *testing.T) {
	t.Parallel()
	short, long := newWayTester(t), newWayTester(t)
	short.count(t, "join_queue", "RETURN ARRAY")
	short.count(t, "release_to_head", "RETURN true")
	long.exec(t, `CREATE OR REPLACE FUNCTION $.join_queue(of_name text, by_owner text, lasts interval, many integer,
			at_listener bigint, with_ticket bigint, as_holder text, longest interval, most integer) RETURNS bigint[]
			LANGUAGE sql AS 'SELECT NULL::bigint[]';
		CREATE OR REPLACE FUNCTION $.release_to_head(of_name text, by_owner text) RETURNS boolean
			LANGUAGE sql AS 'SELECT false'`)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	shortRuns := func() int {
		return min(short.calls(t, "join_queue"), short.calls(t, "release_to_head"))
	}
	for round := 0; round < 60 || shortRuns() < 100 && round < 400; round++ { // late rounds are cut off
		name, dead := nameOfRound(round), round%3 == 0
		began := time.Now()
		for step := range 30 {
			r := randomWayRequest(random, short.holder(t, name), dead)
			got, want := short.run(t, round, r), long.run(t, round, r)
			if time.Since(began) > 2*time.Second {
				break // waiters without a listener are about to lose their places
			}
			if got != want && !dead {
				t.Fatalf("round %d, step %d: %+v is answered\n%s\nbut on the long way\n%s", round, step, r, got, want)
			}
		}
		if !dead {
			continue
		}
		for _, x := range []*wayTester{short, long} {
			for owner := range wayOwners {
				x.run(t, round, wayRequest{release: true, owner: owner})
			}
			if left := x.rows(t, name); strings.Contains(left, "owner") {
				t.Errorf("round %d: in the end there is still\n%s", round, left)
			}
		}
	}
	got, want := short.granted(t), long.granted(t)
	for name := range got {
		if round := 0; got[name] != want[name] {
			if _, err := fmt.Sscanf(name, "name %d", &round); err == nil && round%3 > 0 {
				t.Errorf("waiters for %s receive %q, but on the long way %q", name, got[name], want[name])
			}
		}
	}
	if n := shortRuns(); n < 100 {
		t.Errorf("%d joins or hand-overs took the short way: hardly any", n)
	}
}

const wayOwners = 12

// wayRequest is a take or a release.
type wayRequest struct {
	release  bool
	owner    int
	shared   bool
	joins    bool
	most     int  // of waiters
	polls    bool // without a listener
	dead     bool // the listener is
	keep     bool
	together bool // in shut_at_once first
}

func randomWayRequest(random *rand.Rand, holder string, dead bool) wayRequest {
	seldom := func() bool { return random.IntN(10) == 0 }
	r := wayRequest{release: random.IntN(2) == 0, owner: random.IntN(wayOwners), joins: !seldom(),
		most: 10_000, together: random.IntN(3) == 0}
	if r.release && holder != "" && !seldom() {
		_, _ = fmt.Sscanf(holder, "owner %d", &r.owner) // if it does not fit, it is any owner
	}
	if seldom() {
		r.most = 2
	}
	if dead {
		r.dead = random.IntN(2) == 0
		return r
	}
	r.shared, r.polls, r.keep = seldom(), seldom(), r.release && random.IntN(30) == 0
	return r
}

// wayTester sends requests to a schema of its own, and listens for grants.
type wayTester struct {
	pool     *pgxpool.Pool
	schema   string
	listener int64

	mu     sync.Mutex
	grants map[string][]string // by the name of the lock
	ended  bool                // the last message has arrived
}

func newWayTester(t *testing.T) *wayTester {
	t.Helper()
	pool, schema := newTables(t)
	x := &wayTester{pool: pool, schema: schema, listener: rand.Int64(), grants: make(map[string][]string)}
	conn, err := pgx.Connect(t.Context(), shared(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), fmt.Sprintf(
		"SELECT pg_advisory_lock(%d); LISTEN leasehold_%d", x.listener, x.listener)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			m, err := conn.WaitForNotification(ctx)
			if err != nil {
				return
			}
			x.note(m.Payload)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = conn.Close(context.Background()) // the server ends soon
	})
	return x
}

// note notes a message. Its ticket says who is told, and of which name.
func (x *wayTester) note(payload string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = payload == "end"
	var ticket, token, tokens, lease, at, waiting int64
	if n, _ := fmt.Sscanf(payload, "g %d %d %d %d %d %d", &ticket, &token, &tokens, &lease, &at, &waiting); n == 6 {
		name := nameOfRound(int(ticket / wayOwners))
		x.grants[name] = append(x.grants[name],
			fmt.Sprintf("owner %d: %d tokens for %d us, %d wait", ticket%wayOwners, tokens, lease, waiting))
	}
}

func nameOfRound(n int) string { return fmt.Sprint("name ", n) }

// granted returns the grants that were received, by the name of the lock.
func (x *wayTester) granted(t *testing.T) map[string]string {
	t.Helper()
	x.exec(t, fmt.Sprintf("SELECT pg_notify('leasehold_%d', 'end')", x.listener)) // messages arrive in order
	eventually(t, "the last message arrives", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.ended
	})
	all := make(map[string]string)
	for name, grants := range x.grants {
		all[name] = strings.Join(grants, "; ")
	}
	return all
}

// exec runs statements in which $ stands for the schema.
func (x *wayTester) exec(t *testing.T, statements string) {
	t.Helper()
	if _, err := x.pool.Exec(t.Context(), strings.ReplaceAll(statements, "$.", x.schema+"."),
		pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

// value runs a query that answers with one value.
func value[T any](t *testing.T, x *wayTester, query string, args ...any) (v T) {
	t.Helper()
	row := x.pool.QueryRow(t.Context(), strings.ReplaceAll(query, "$.", x.schema+"."), args...)
	if err := row.Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// count has a function count its calls that end with a statement.
func (x *wayTester) count(t *testing.T, function, statement string) {
	t.Helper()
	x.exec(t, "CREATE SEQUENCE $."+function+"_calls")
	text := value[string](t, x, "SELECT pg_get_functiondef('$."+function+"'::regproc)")
	counted := strings.Replace(text, statement, "PERFORM nextval('$."+function+"_calls'); "+statement, 1)
	if counted == text {
		t.Fatalf("%s has no %s", function, statement)
	}
	x.exec(t, counted)
}

func (x *wayTester) calls(t *testing.T, function string) int {
	return value[int](t, x, "SELECT last_value FROM $."+function+"_calls")
}

// holder returns an owner that holds a name, if there is one.
func (x *wayTester) holder(t *testing.T, name string) string {
	return value[string](t, x, `SELECT coalesce(min(owner), '') FROM $.holders WHERE name = $1`, name)
}

// run sends a request, and returns its answer and the rows that it leaves.
func (x *wayTester) run(t *testing.T, round int, r wayRequest) string {
	t.Helper()
	var answer string
	switch {
	case r.together && x.together(t, round, r, &answer):
	case r.release:
		var keep *time.Duration
		if r.keep {
			keep = new(time.Minute)
		}
		answer = value[string](t, x, "SELECT coalesce($.release_shut(1::smallint, $1, $2, $3)::text, '')",
			nameOfRound(round), nameOfOwner(r.owner), keep)
	default:
		var listener *int64
		if !r.polls {
			listener = new(x.listenerOf(r))
		}
		got := value[[]*int64](t, x, `SELECT $.take_shut(1::smallint, $1, $2, $3::boolean::integer::smallint, 1, 1,
				interval '1m', 2, $4, $5, $6, 'test', interval '1m', true, $7)`,
			nameOfRound(round), nameOfOwner(r.owner), r.shared, r.joins, listener, ticketOf(round, r), r.most)
		answer = wayAnswer(got)
	}
	return answer + "\n" + x.rows(t, nameOfRound(round))
}

func nameOfOwner(n int) string { return fmt.Sprint("owner ", n) }

func ticketOf(round int, r wayRequest) int64 { return int64(round*wayOwners + r.owner) }

// listenerOf is the number of a connection that listens, or of one that has ended.
func (x *wayTester) listenerOf(r wayRequest) int64 {
	if r.dead {
		return x.listener + 1
	}
	return x.listener
}

// wayAnswer is an answer of take_shut without times and tokens.
func wayAnswer(got []*int64) string {
	var text strings.Builder
	for i, n := range got {
		switch {
		case n == nil:
			text.WriteString("- ")
		case i == 0 || i >= 2 && i <= 4:
			text.WriteString("+ ")
		default:
			fmt.Fprint(&text, *n, " ")
		}
	}
	return text.String()
}

// together sends a request to shut_at_once, and reports whether it is done.
func (x *wayTester) together(t *testing.T, round int, r wayRequest, answer *string) bool {
	t.Helper()
	if r.keep || r.shared || r.polls || !r.joins {
		return false
	}
	names, owners, none := []string{nameOfRound(round)}, []string{nameOfOwner(r.owner)}, []string{}
	const call = "SELECT $.shut_at_once($1, $2, $3, $4, $5, $6, $7, $8, $9, interval '1m', $10)"
	if r.release {
		got := value[[]int64](t, x, call, names, owners, none, none, []time.Duration{}, []int32{}, []int64{}, []int64{},
			none, []int32{})
		*answer = "true"
		return len(got) == 1 && got[0] == 1
	}
	got := value[[]int64](t, x, call, none, none, names, owners, []time.Duration{time.Minute}, []int32{2},
		[]int64{x.listenerOf(r)}, []int64{ticketOf(round, r)}, []string{"test"}, []int32{int32(r.most)})
	if len(got) != 3 || got[0] == 0 {
		return false
	}
	*answer = wayAnswer([]*int64{nil, nil, &got[0], nil, &got[1], &got[2], new(int64(0))})
	return true
}

// rows returns all rows of a name, with leases rounded to seconds, and without tokens.
func (x *wayTester) rows(t *testing.T, name string) string {
	t.Helper()
	return value[string](t, x, `SELECT concat_ws(E'\n',
		(SELECT string_agg(concat_ws(' ', 'holder', slot = 0, tokens, owner, mode, weight, upto = '0', holder,
				CASE WHEN expires > '-infinity' THEN extract(epoch FROM date_trunc('second', expires - granted)) END),
				E'\n' ORDER BY token)
			FROM $.holders WHERE name = $1),
		(SELECT string_agg(concat_ws(' ', 'waiter', owner, mode, weight, size, tokens, ttl, listener - $2, ticket,
				holder, extract(epoch FROM date_trunc('second', alive_until - joined))), E'\n' ORDER BY seq)
			FROM $.waiters WHERE name = $1))`, name, x.listener)
}
