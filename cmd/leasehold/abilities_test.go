//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/driver"
)

// The table of the engines' abilities is in this document, after a line with this mark.
const (
	abilitiesFile = "../../docs/engines/README.md"
	abilitiesMark = "<!-- abilities -->"
)

// writeAbilitiesEnv, if not empty, makes the test write the table from the engines' answers instead of comparing it.
const writeAbilitiesEnv = "LEASEHOLD_WRITE_ABILITIES"

// ability is a row of the table.
type ability struct {
	name string
	of   func(able) string
}

// able is what an engine reports, how many tokens in a row it grants, and what operators can do.
type able struct {
	driver.Abilities
	tokens                                                           int
	latches, data, queue, all, force, records, examine, leaks, votes bool
}

// abilities are the rows.
var abilities = []ability{
	{"read-write locks", func(a able) string { return yes(a.Shared) }},
	{"semaphores", func(a able) string { return yes(a.Semaphores) }},
	{"latches", func(a able) string { return yes(a.latches) }},
	{"waiters are served in their order", func(a able) string { return yes(a.Fair) }},
	{"listings show who waits", func(a able) string { return yes(a.queue) }},
	{"a limit of waiters (`WithMaxWaiters`) on the engine", func(a able) string { return yes(a.Waiters) }},
	{"several names in one step", func(a able) string { return yes(a.all) }},
	{"tokens in a row, for hand-over inside a process", func(a able) string { return yes(a.tokens > 1) }},
	{"an idle lock is recalled (`Linger`)", func(a able) string { return yes(a.Recalls) }},
	{"data of a lock (`SetData`), and so work [once per tick](../once.md)", func(a able) string { return yes(a.data) }},
	{"release by force", func(a able) string { return yes(a.force) }},
	{"… with a record", func(a able) string { return yes(a.records) }},
	{"`leasehold doctor`", func(a able) string { return yes(a.examine) }},
	{"`leasehold leaks`", func(a able) string { return yes(a.leaks) }},
	{"what each of several servers says", func(a able) string { return yes(a.votes) }},
	{"a listing searches through all keys", func(a able) string { return yes(a.Walk) }},
	{"longest lease, unless set otherwise", func(a able) string { return longest(a.MaxTTL) }},
}

func yes(can bool) string {
	if can {
		return "yes"
	}
	return "–"
}

// longest returns the longest lease in words.
func longest(engines time.Duration) string {
	if engines <= 0 || engines > leasehold.MaxTTL {
		engines = leasehold.MaxTTL
	}
	switch {
	case engines%time.Hour == 0:
		return fmt.Sprintf("%d h", engines/time.Hour)
	case engines%time.Minute == 0:
		return fmt.Sprintf("%d min", engines/time.Minute)
	}
	return fmt.Sprintf("%.1f s", engines.Truncate(time.Second/10).Seconds())
}

// ableOf asks an engine for its abilities.
func ableOf(t *testing.T, url string) able {
	t.Helper()
	e, shut, err := engine.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer shut()
	a := able{Abilities: e.Abilities()}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	_, a.latches = e.(driver.Latcher)
	_, a.data = e.(driver.DataKeeper)
	_, a.all = e.(driver.AllTaker)
	a.askOperator(ctx, driver.OperatorOf(e))
	r := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "abilities-" + rand.Text()}, Owner: rand.Text(),
		Size: 1, Weight: 1, TTL: 10 * time.Second, Tokens: 8}
	g, err := e.Take(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	a.tokens, a.queue = g.Tokens, listsWaiters(ctx, t, e, r)
	if err := e.Release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner,
		Token: g.Token}}); err != nil {
		t.Fatal(err)
	}
	return a
}

// listsWaiters reports whether a listing shows who waits for a name that is held.
func listsWaiters(ctx context.Context, t *testing.T, e driver.Engine, held driver.Request) bool {
	t.Helper()
	waiter := held
	waiter.Owner, waiter.Join = rand.Text(), true
	if _, err := e.Take(ctx, waiter); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	waiting, stop := context.WithTimeout(ctx, 2*time.Second) // on a majority, it is in the queue once it waits
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = e.Wait(waiting, waiter)
	}()
	shown := false
	for !shown && waiting.Err() == nil {
		listed, err := e.List(ctx, driver.Query{Name: held.Key.Name, Limit: 1})
		if err != nil || len(listed) != 1 {
			t.Fatal(listed, err)
		}
		shown = listed[0].Waiting > 0
	}
	stop()
	<-ended
	if err := e.Release(ctx, driver.Release{Hold: driver.Hold{Key: held.Key, Owner: waiter.Owner}}); err != nil &&
		!errors.Is(err, driver.ErrNotHeld) {
		t.Fatal(err)
	}
	return shown
}

// askOperator notes what an operator can do.
func (a *able) askOperator(ctx context.Context, o driver.Operator) {
	free := driver.Key{Kind: driver.Lock, Name: "abilities-" + rand.Text()}
	supports := func(err error) bool { return !errors.Is(err, driver.ErrUnsupported) }
	a.force = supports(o.ForceRelease(ctx, free, 1))
	_, err := o.Records(ctx, 1)
	a.records = supports(err)
	_, err = o.Examine(ctx)
	a.examine = supports(err)
	_, err = o.Votes(ctx, free)
	a.votes = supports(err)
	a.leaks = supports(o.Leaks(ctx, driver.Query{Name: free.Name}, func(driver.Leak) bool { return true }))
}

// column returns an engine's column of the table.
func (a able) column() []string {
	column := make([]string, len(abilities))
	for i, row := range abilities {
		column[i] = row.of(a)
	}
	return column
}

// abilityPages are the heads of the columns, in order: engines with their pages.
var abilityPages = []string{"[memory](memory.md)", "[sqlite](sqlite.md)", "[redis](redis.md)",
	"[redlock](../redlock.md)", "[redisson](../redisson.md)", "[postgres](postgres.md)", "[etcd](etcd.md)",
	"[zookeeper](zookeeper.md)"}

// abilityTable is the table in the document. It is safe for concurrent use.
type abilityTable struct {
	mu      sync.Mutex
	columns map[string][]string // by engine
	write   bool
}

// readAbilities reads the table. If it is to be written, it writes it at the end of the test.
func readAbilities(t *testing.T) *abilityTable {
	t.Helper()
	table := &abilityTable{columns: map[string][]string{}, write: os.Getenv(writeAbilitiesEnv) != ""}
	if table.write {
		t.Cleanup(func() { table.save(t) })
		return table
	}
	_, lines, _ := abilityLines(t)
	rows := [][]string{abilityPages, nil}
	for _, row := range abilities {
		rows = append(rows, []string{row.name})
	}
	if len(lines) != len(rows) {
		t.Fatalf("the table in %s has %d lines, want %d: make abilities writes it", abilitiesFile, len(lines),
			len(rows))
	}
	for i, line := range lines {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		switch {
		case i == 0 && !slices.Equal(cells[1:], abilityPages),
			i > 1 && (cells[0] != rows[i][0] || len(cells) != len(abilityPages)+1):
			t.Fatalf("the table in %s has the line %s: make abilities writes it", abilitiesFile, line)
		case i > 1:
			for n, head := range abilityPages {
				table.columns[engineOf(head)] = append(table.columns[engineOf(head)], cells[n+1])
			}
		}
	}
	return table
}

// engineOf returns the engine of a column.
func engineOf(head string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(head, "["), "]")
	return name
}

// abilityLines returns the document before the table, the lines of the table, and the document after it.
func abilityLines(t *testing.T) (before string, lines []string, after string) {
	t.Helper()
	text, err := os.ReadFile(abilitiesFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), abilitiesMark+"\n")
	if !found {
		t.Fatalf("%s has no %s", abilitiesFile, abilitiesMark)
	}
	for strings.HasPrefix(rest, "|") {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		lines = append(lines, line)
	}
	return before + abilitiesMark + "\n", lines, rest
}

// compare compares a column with the engine's answers, or replaces it.
func (table *abilityTable) compare(t *testing.T, a able) {
	t.Helper()
	table.mu.Lock()
	defer table.mu.Unlock()
	if table.write {
		table.columns[a.Name] = a.column()
		return
	}
	documented := table.columns[a.Name]
	for i, cell := range a.column() {
		if documented == nil || documented[i] != cell {
			t.Errorf("%s: %s: it is %q and not what the table in %s has: make abilities writes it", a.Name,
				abilities[i].name, cell, abilitiesFile)
		}
	}
}

// save writes the table.
func (table *abilityTable) save(t *testing.T) {
	t.Helper()
	rows := [][]string{{""}, {"---"}}
	for _, row := range abilities {
		rows = append(rows, []string{row.name})
	}
	for _, head := range abilityPages {
		column, found := table.columns[engineOf(head)]
		if !found {
			t.Errorf("nothing is known of %s", head)
			return
		}
		for i, cell := range slices.Concat([]string{head, "---"}, column) {
			rows[i] = append(rows[i], cell)
		}
	}
	text, _, after := abilityLines(t)
	for _, row := range rows {
		text += "| " + strings.Join(row, " | ") + " |\n"
	}
	if err := os.WriteFile(abilitiesFile, []byte(text+after), 0o644); err != nil {
		t.Error(err)
	}
}
