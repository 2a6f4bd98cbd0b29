package redisson

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// The table of objects and abilities is in this document, between these lines.
const (
	abilitiesFile  = "../../docs/redisson.md"
	abilitiesBegin = "<!-- abilities: go test ./lab/redisson -run TestAbilities -update -->\n"
	abilitiesEnd   = "<!-- end of abilities -->\n"
)

// column is an ability, with how it is found out.
type column struct {
	name string
	has  func(p *probe) bool
}

// columns are all of them.
var columns = []column{
	{"lease", (*probe).hasLease},
	{"renewed", (*probe).isRenewed},
	{"loss", (*probe).tellsLoss},
	{"tokens", (*probe).hasTokens},
	{"again", (*probe).entersAgain},
	{"shared", (*probe).isShared},
	{"downgrade", (*probe).downgrades},
	{"order", (*probe).keepsOrder},
	{"notified", (*probe).notifies},
	{"listed", (*probe).isListed},
	{"inspected", (*probe).isInspected},
	{"forced", (*probe).isForced},
	{"leaks", (*probe).findsLeaks},
	{"`MaxHold`", (*probe).hasMaxHold},
}

// note explains cells.
type note struct {
	text string
	// cells are "ROW", "COLUMN" or "ROW COLUMN". Those of a row or a column are the cells there that have no note of
	// their own.
	cells []string
	// wire says that the reason is Redisson's protocol. wireTests has a test with that name.
	wire string
}

// notes are in the order of the page. A cell without the ability must have one.
var notes = []note{
	{"Nothing on the server says who waits, or since when.", []string{"order"}, "NobodyIsInAQueue"},
	{"Java's unlock deletes the whole hash, and its locks count nothing.", []string{"RLock tokens", "RSpinLock tokens"},
		"NoPlaceForATokenInRLock"},
	{"Its holders in Java notify nobody: it polls.", []string{"RSpinLock notified"}, "SpinLocksNotifyNobody"},
	{"It asks all servers again and again, as no server knows of the others.",
		[]string{"RedissonRedLock notified"}, ""},
	{"Each of its locks.", []string{
		"RedissonMultiLock tokens", "RedissonMultiLock listed", "RedissonMultiLock inspected",
		"RedissonMultiLock forced", "RedissonMultiLock leaks",
		"RedissonRedLock tokens", "RedissonRedLock listed", "RedissonRedLock inspected",
		"RedissonRedLock forced", "RedissonRedLock leaks",
	}, ""},
	{"`LeaseTime` limits a hold.", []string{"RedissonMultiLock `MaxHold`", "RedissonRedLock `MaxHold`"}, ""},
	{"It is a number: nothing says who has permits, or until when.", []string{"RSemaphore"}, "SemaphoresAreNumbers"},
	{"Programs in Java have no names there, and those that have taken permits without a lease hold them for ever.",
		[]string{"RPermitExpirableSemaphore listed", "RPermitExpirableSemaphore leaks"}, "PermitsOfJavaHaveNoName"},
	{"Whoever has permits waits for more like all others.", []string{"RPermitExpirableSemaphore again"}, ""},
	{"Nobody holds a latch. One that only Java uses is a number, and not listed.", []string{"RCountDownLatch"},
		"LatchesOfJavaAreNumbers"},
	{"One holder at a time; `RReadWriteLock` has readers.", []string{"shared", "downgrade"}, ""},
}

// findNote returns the number of the note of a cell, or 0.
func findNote(row, column string) int {
	for _, cell := range []string{row + " " + column, row, column} {
		for i, n := range notes {
			if slices.Contains(n.cells, cell) {
				return i + 1
			}
		}
	}
	return 0
}

// mark returns the number of a note as a superscript.
func mark(number int) string {
	var s strings.Builder
	for _, digit := range fmt.Sprint(number) {
		s.WriteRune([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[digit-'0'])
	}
	return s.String()
}

// What each object can do, as the page says. Each cell is found out by calls on a server: a cell without the ability is
// a call that is refused, or that has no effect, or that does not exist.
func TestAbilitiesOfEachObject(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	cells := make([][]string, len(rows))
	t.Run("cells", func(t *testing.T) {
		for i, r := range rows {
			cells[i] = make([]string, len(columns))
			for j, c := range columns {
				t.Run(r.name+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					cells[i][j] = cell(t, r.name, c.name, hasAbility(t, server, r, c))
				})
			}
		}
	})
	if t.Failed() {
		return
	}
	var table strings.Builder
	head, line := "| |", "|---|"
	for _, c := range columns {
		head, line = head+" "+c.name+" |", line+"---|"
	}
	table.WriteString(head + "\n" + line + "\n")
	for i, r := range rows {
		fmt.Fprintf(&table, "| `%s` | %s |\n", r.name, strings.Join(cells[i], " | "))
	}
	table.WriteByte('\n')
	for i, n := range notes {
		text := n.text
		if n.wire != "" {
			text += " *Wire*"
		}
		fmt.Fprintf(&table, "%d. %s\n", i+1, text)
	}
	comparePage(t, table.String())
}

// hasAbility finds out whether an object has an ability. Leases are short, so an answer on a machine that was late does
// not count, unless it is a yes without a note.
func hasAbility(t *testing.T, s *redisserver.Server, r row, c column) (has bool) {
	t.Helper()
	probes <- struct{}{}
	defer func() { <-probes }()
	tries := 0
	lateness.Try(t, func() string {
		tries++
		if has = c.has(newProbe(t, s, r, c.name, tries)); has && findNote(r.name, c.name) == 0 {
			return ""
		}
		return fmt.Sprintf("%s %s: %v", r.name, c.name, has)
	})
	return has
}

// cell returns the text of a cell.
func cell(t *testing.T, row, column string, has bool) string {
	n := findNote(row, column)
	switch {
	case has && n > 0 && slices.Contains(notes[n-1].cells, row+" "+column):
		return "yes" + mark(n)
	case has:
		return "yes"
	case n == 0:
		t.Errorf("%s has no %s, and no note says why", row, column)
	}
	return "–" + mark(n)
}

// comparePage compares the table with that of the page, or writes it there.
func comparePage(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile(abilitiesFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), abilitiesBegin)
	documented, after, ends := strings.Cut(rest, abilitiesEnd)
	switch {
	case !begins || !ends:
		t.Fatalf("%s has no table of abilities", abilitiesFile)
	case *update:
		text := before + abilitiesBegin + table + abilitiesEnd + after
		if err := os.WriteFile(abilitiesFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	case documented != table:
		t.Errorf("%s has another table: run the test with -update. It is now\n%s", abilitiesFile, table)
	}
}
