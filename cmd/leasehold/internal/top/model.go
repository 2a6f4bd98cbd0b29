package top

import (
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// Options say what is shown, and how.
type Options struct {
	// Engine is shown as the name of the engine. It must not contain a password.
	Engine string
	// Kind and Prefix limit which names are listed. Zero values mean all.
	Kind   driver.Kind
	Prefix string
	// Interval is the time from the end of one listing to the beginning of the next. It need not be one of Intervals.
	Interval time.Duration
	// ASCII: the terminal shows nothing else. WideAmbiguous: it shows letters of ambiguous width in two columns.
	// Colors: it has colours, and they are wanted.
	ASCII, WideAmbiguous, Colors bool
}

// Intervals are the choices of the keys + and -.
var Intervals = []time.Duration{
	500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 5 * time.Minute,
}

// examineEvery is the shortest time between two examinations, which send several requests to each server. After
// listings begin to fail or to work again, the next examination comes at once.
const examineEvery = 15 * time.Second

// page is what fills the screen.
type page uint8

const (
	pageTable page = iota
	pageDetail
	pageHelp
)

// model is all that is known, and what of it is shown. It is for one goroutine.
type model struct {
	opts    Options
	charset charset
	now     time.Time
	width   int
	height  int

	page   page
	view   view
	typing bool
	typed  []rune
	paused bool
	quit   bool

	snapshot     *snapshot // nil before the first listing has ended
	snapshotAt   time.Time
	err          error // of the latest listing; nil if it has worked
	failingSince time.Time
	progress     progress // of the listing in flight
	hasRates     bool     // grants and releases are known
	grants       float64
	releases     float64

	selected    driver.Key // the selected name; zero as long as the first row is selected
	selectedRow int        // the row that was selected last
	topRow      int        // the row at the top of the screen

	openName  driver.Key // the name that fills the screen
	detail    *detail
	scroll    int
	detailAt  time.Time
	detailErr error

	examination admin.Examination
	examinedAt  time.Time
	examineErr  error

	requests [requestKinds]requestState
}

// detail is what is known of one name.
type detail struct {
	status admin.Status                 // of the name's kind; empty if the name is free
	votes  []admin.Vote                 // empty if the engine has only one server
	closed *leasehold.GrantsClosedError // nil if leases are granted
}

func newModel(o Options, now time.Time) *model {
	m := &model{opts: o, charset: charset{ascii: o.ASCII, wideAmbiguous: o.WideAmbiguous}, now: now, width: 80,
		height: 24}
	for i := range m.requests {
		m.requests[i].due = now
	}
	return m
}

func (m *model) resize(width, height int) { m.width, m.height = width, height }

// rows returns the rows of the table: those of the latest snapshot that match, in the current order.
func (m *model) rows() []row {
	if m.snapshot == nil {
		return nil
	}
	v := m.view
	if m.typing {
		v.filter = string(m.typed)
	}
	if v == m.snapshot.view {
		return m.snapshot.rows
	}
	return filterAndSort(m.snapshot.rows, v)
}

// cursor returns the selected row. The selection follows its name; if the name is gone, it stays in its row.
func (m *model) cursor(rows []row) int {
	for i, r := range rows {
		if r.Key == m.selected {
			return i
		}
	}
	return max(0, min(m.selectedRow, len(rows)-1))
}

// scrollToSelected scrolls so that the selected row is visible.
func (m *model) scrollToSelected() {
	rows, height := m.rows(), max(1, m.tableHeight())
	m.selectedRow = m.cursor(rows)
	m.topRow = min(m.topRow, m.selectedRow, max(0, len(rows)-height))
	m.topRow = max(m.topRow, m.selectedRow-height+1)
}

// noteSnapshot takes in the result of a listing.
func (m *model) noteSnapshot(p snapshot) {
	if before := m.snapshot; before != nil {
		p.carryOver(before)
		m.hasRates = !p.cut && !before.cut && p.began.After(before.began)
		if m.hasRates {
			granted, released := countChanges(before.leases, p.leases)
			seconds := p.began.Sub(before.began).Seconds()
			m.grants, m.releases = float64(granted)/seconds, float64(released)/seconds
		}
		before.leases = nil
	}
	if m.err != nil {
		m.requests[examineServers].due = m.now
	}
	m.snapshot, m.snapshotAt, m.err, m.progress = &p, m.now, nil, progress{}
}

// noteFailure takes in that a listing has failed. The earlier snapshot stays.
func (m *model) noteFailure(err error) {
	if m.err == nil {
		m.failingSince = m.now
		m.requests[examineServers].due = m.now // the servers have hardly stayed as they were
	}
	m.err, m.progress, m.hasRates = err, progress{}, false
}

// sortBy sorts the table by s, or reverses the order if it is sorted by s already.
func (m *model) sortBy(s sortOrder) {
	if m.view.sort == s {
		m.view.reversed = !m.view.reversed
	} else {
		m.view.sort, m.view.reversed = s, false
	}
	m.resetTable()
}

// resetTable selects the first row, and lists again at once if the snapshot does not have all names.
func (m *model) resetTable() {
	m.selectFirst()
	if m.isPartial() {
		m.askFor(listNames)
	}
}

// isPartial reports whether there are names that the latest snapshot has not kept.
func (m *model) isPartial() bool { return m.snapshot == nil || m.snapshot.names > len(m.snapshot.rows) }

// selectFirst selects the first row, and keeps it selected whatever name it will have.
func (m *model) selectFirst() { m.selected, m.selectedRow, m.topRow = driver.Key{}, 0, 0 }

func (m *model) openDetail(k driver.Key) {
	m.page, m.openName, m.detail, m.detailErr, m.scroll = pageDetail, k, nil, nil, 0
	m.askFor(inspectOne)
}

// changeInterval makes the interval longer or shorter by a number of steps.
func (m *model) changeInterval(steps int) {
	at := 0
	for at < len(Intervals)-1 && Intervals[at] < m.opts.Interval {
		at++
	}
	if steps > 0 && Intervals[at] > m.opts.Interval {
		steps-- // the interval was between two steps
	}
	m.opts.Interval = Intervals[max(0, min(at+steps, len(Intervals)-1))]
	w := &m.requests[listNames]
	if soon := m.now.Add(m.opts.Interval); !w.inFlight && soon.Before(w.due) {
		w.due = soon
	}
}
