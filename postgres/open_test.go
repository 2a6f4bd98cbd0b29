package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// urlWith adds parameters to the URL of the shared server.
func urlWith(t *testing.T, parameters string) string {
	t.Helper()
	url := shared(t).URL()
	if strings.Contains(url, "?") {
		return url + "&" + parameters
	}
	return url + "?" + parameters
}

func TestOpenByURL(t *testing.T) {
	t.Parallel()
	url := urlWith(t, "pool_max_conns=3&max_ttl=90s&schema="+schemaName())
	var engines []*postgres.Engine
	var mu sync.Mutex
	var opening sync.WaitGroup
	for range 4 { // all of them want to make the tables
		opening.Go(func() {
			e, err := postgres.Open(t.Context(), url)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			t.Cleanup(func() { _ = e.Close() })
			mu.Lock()
			defer mu.Unlock()
			engines = append(engines, e)
		})
	}
	opening.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if longest := engines[0].Abilities().MaxTTL; longest != 90*time.Second {
		t.Errorf("the longest ttl is %v, want 90s", longest)
	}
	mustTake(t, engines[0], lock("name"))
	if _, err := engines[1].Take(t.Context(), lock("name")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take of what another engine holds: %v, want ErrHeld", err)
	}
	engines[0].Close()
	engines[0].Close()
	if _, err := engines[0].Take(t.Context(), lock("other")); !driver.IsPermanent(err) {
		t.Errorf("Take after Close: %v, want a permanent error", err)
	}
}

func TestInvalidURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"mysql://u:secret@h/db":                             "postgres://",
		"host=h password=secret":                            "postgres://",
		"postgres://u:secret@h/db?max_ttl=1":                `"max_ttl"`,
		"postgres://u:secret@h/db?max_ttl=25h":              "24h",
		"postgres://u:secret@h/db?schema=Wrong":             `"schema"`,
		"postgres://u:secret@h/db?schema=pg_x":              `"schema"`,
		"postgres://u:secret@h/db?polling=yes":              `"polling"`,
		"postgres://u:secret@h/db?guard=on":                 `"guard"`,
		"postgres://u:secret@h/db?migrate=no":               `"migrate"`,
		"postgres://u:secret@h/db?guard=off&guard=off":      "once",
		"postgres://u:sec?ret@h/db":                         "%3F",
		"postgres://u:secret@h:port/db":                     "percent-encoded",
		"postgres://u:secret@h/db?sslmode=secret":           "verify-full",
		"postgres://u:secret@h/db?ssl_mode=verify-full":     `"ssl_mode"`,
		"postgres://u:secret@h/db?ssl=true":                 `"ssl"`,
		"postgres://u:secret@h/db?ssl%6Dode=secret":         "verify-full",
		"postgres://u:secret@h/db?sslmode=require&sslmode=": "once",
		"postgres://u:secret@h/db?hostaddr=10.0.0.1":        "one of guard, max_ttl, migrate, polling, schema, host",
		"postgres://u:se@cret@h/db":                         "%40",
		"postgres://u@x:se?cret=1@h/db":                     "a parameter that is not known",
		"postgres://u:1/secret@h/db":                        "%2F",
		"postgres://u:secret@h1,u:secret@h2/db":             "USER:PASSWORD@HOST1,HOST2",
		"postgres://h1,u:secret@h2/db":                      "USER:PASSWORD@HOST1,HOST2",
		"postgres://u:secret@h/db?secret":                   "a parameter that is not known",
		"postgres://u:secret@h/db?pool_max_conns=secret":    "percent-encoded",
		"postgres://u:secret@h/db?sslrootcert=/not/a/place": "/not/a/place",
	} {
		_, err := postgres.Open(t.Context(), url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open of a wrong URL: %v, want an error with %q", err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("an error shows the password, or what may be one: %v", err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), urlWith(t, "migrate=off&schema="+schemaName()))
	if !driver.IsPermanent(err) || !strings.Contains(fmt.Sprint(err), "migrate=off") {
		t.Errorf("Open without tables: %v, want a permanent error that says what to do", err)
	}
	pool, schema := newTables(t)
	if _, err := pool.Exec(t.Context(), "UPDATE "+schema+".meta SET version = 1000"); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"", "&migrate=off"} {
		if _, err := postgres.Open(t.Context(), urlWith(t, "schema="+schema+more)); !driver.IsPermanent(err) ||
			!strings.Contains(fmt.Sprint(err), "newer") {
			t.Errorf("Open of tables of a newer version%s: %v, want a permanent error", more, err)
		}
	}
	if _, err := postgres.New(nil); err == nil {
		t.Error("New without a pool returns no error")
	}
	for name, o := range map[string]postgres.Option{
		"WithSchema": postgres.WithSchema("a.b"),
		"WithMaxTTL": postgres.WithMaxTTL(time.Millisecond),
	} {
		if wrong, ok := errors.AsType[*postgres.OptionError](func() error {
			_, err := postgres.New(pool, o)
			return err
		}()); !ok || wrong.Option != name {
			t.Errorf("New with a wrong %s: %v", name, wrong)
		}
	}
}

// The text of SQL makes the same tables, with psql as with any other tool.
func TestSQL(t *testing.T) {
	t.Parallel()
	url, schema := shared(t).URL(), schemaName()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Fatal(err) // psql comes with the server
	}
	cmd := exec.Command(psql, url, "-q", "-v", "ON_ERROR_STOP=1", "-1")
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c client_min_messages=warning")
	cmd.Stdin = strings.NewReader(postgres.SQL(schema))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e, err := postgres.Open(t.Context(), urlWith(t, "migrate=off&schema="+schema))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	mustTake(t, e, lock("name"))
	if err := postgres.Migrate(t.Context(), dial(t, shared(t)), schema); err != nil {
		t.Errorf("Migrate of tables that are there: %v", err)
	}
}

// The name of a schema may be a key word of SQL.
func TestSchemaLikeAKeyWord(t *testing.T) {
	t.Parallel()
	e, err := postgres.Open(t.Context(), urlWith(t, "schema=user"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	r := lock("name")
	l := lease{r.Name, mustTake(t, e, r).Token, nil}
	tx, err := dial(t, shared(t)).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if err := e.Guard(t.Context(), tx, l); err != nil {
		t.Errorf("Guard: %v", err)
	}
	mustExamine(t, e)
}

// If an administrator has made the schema, nobody else needs the right to make one.
func TestTablesInASchemaThatIsThere(t *testing.T) {
	t.Parallel()
	pool, schema := dial(t, shared(t)), schemaName()
	role := "owner_of_" + schema
	for _, query := range []string{
		"CREATE ROLE " + role + " LOGIN", "CREATE SCHEMA " + schema + " AUTHORIZATION " + role,
	} {
		if _, err := pool.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	e, err := postgres.Open(t.Context(), urlWith(t, "user="+role+"&schema="+schema))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	mustTake(t, e, lock("name"))
}

// With another isolation level a request would not see what others have just changed.
func TestIsolationLevelIsChecked(t *testing.T) {
	t.Parallel()
	_, schema := newTables(t)
	e, err := postgres.Open(t.Context(), urlWith(t, "default_transaction_isolation=serializable&schema="+schema))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	_, err = e.Take(t.Context(), lock("name"))
	if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "default_transaction_isolation") {
		t.Errorf("Take with the isolation level serializable: %v, want a permanent error that says what to do", err)
	}
}

// A request that cannot be answered ends with its context.
func TestRequestsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	r := lock("name")
	mustTake(t, e, r)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "SELECT "+schema+".key_lock(1::smallint, 'name')"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	waits := lock("name")
	waits.Join = true
	if _, err := e.Take(ctx, waits); err == nil || driver.IsNo(err) {
		t.Errorf("Take without an answer: %v", err)
	}
	if late := ctx.Err(); late == nil {
		t.Error("it returned too early")
	}
}

// The error says once, and on one line, that there is no server.
func TestAServerThatIsDown(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), "postgres://app:hidden@127.0.0.1:1/app")
	if err == nil || !driver.HadNoEffect(err) || driver.IsPermanent(err) {
		t.Fatalf("Open: %v, want an error that another attempt may not have", err)
	}
	text := err.Error()
	if strings.Contains(text, "\n") || strings.Contains(text, "hidden") || strings.Count(text, "127.0.0.1:1 ") != 1 {
		t.Errorf("the error is %q", text)
	}
}
