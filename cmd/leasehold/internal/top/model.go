package top

import (
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// Options say what is shown, and how.
type Options struct {
	// Engine is what the engine is called. It must have no password in it.
	Engine string
	// Kind and Prefix limit what is looked at. Zero values mean all.
	Kind   leasehold.Kind
	Prefix string
	// Interval is the time between two looks, counted from the end of one to the beginning of the next. It is one of Intervals, or any other.
	Interval time.Duration
	// ASCII: the terminal has no other letters. Broad: it shows letters of doubtful width in two columns. Colors: it has colours, and they are wanted.
	ASCII, Broad, Colors bool
}

// Intervals are those that + and - choose from.
var Intervals = []time.Duration{
	500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute,
}

// examineEvery is the least time between two examinations of the places where locks are kept, unless looks begin to fail or work again: they ask each of them several things.
const examineEvery = 15 * time.Second

// page is what fills the screen.
type page uint8

const (
	table page = iota
	one
	help
)

// model is all that is known, and what of it is shown. It is for one goroutine.
type model struct {
	opts   Options
	script script
	now    time.Time
	width  int
	height int

	page   page
	view   view
	typing bool
	typed  []rune
	paused bool
	ended  bool

	picture  *picture // nil before the first look has come to its end
	arrived  time.Time
	err      error // of the latest look, nil if there was none
	failing  time.Time
	so       progress // of the look that is under way
	rated    bool     // the rates are known
	grants   float64
	releases float64

	chosen driver.Key // the name with the mark; none as long as the mark stays at the top
	at     int        // where the mark was
	first  int        // the row at the top of the screen

	shown   driver.Key // the name that fills the screen
	detail  *detail
	scroll  int
	opened  time.Time
	openErr error

	places     leasehold.Examination
	examined   time.Time
	examineErr error

	work [sorts]work
}

// detail is what is known of one name.
type detail struct {
	status leasehold.Status // of that kind; nothing in it if the name is free
	votes  []leasehold.Vote // empty where all is kept in one place
}

func newModel(o Options, now time.Time) *model {
	m := &model{opts: o, script: script{ascii: o.ASCII, broad: o.Broad}, now: now, width: 80, height: 24}
	for i := range m.work {
		m.work[i].due = now
	}
	return m
}

func (m *model) resize(width, height int) { m.width, m.height = width, height }

// rows are those of the table: what the latest look has kept, in the order of now, without what does not match.
func (m *model) rows() []row {
	if m.picture == nil {
		return nil
	}
	v := m.view
	if m.typing {
		v.filter = string(m.typed)
	}
	if v == m.picture.view {
		return m.picture.rows
	}
	return arrange(m.picture.rows, v)
}

// cursor is where in the table the mark stands. It goes with its name; when the name is gone, it stays where it was.
func (m *model) cursor(rows []row) int {
	for i, r := range rows {
		if r.Key == m.chosen {
			return i
		}
	}
	return max(0, min(m.at, len(rows)-1))
}

// settle moves the table so that the mark is to be seen.
func (m *model) settle() {
	rows, height := m.rows(), max(1, m.tableHeight())
	m.at = m.cursor(rows)
	m.first = min(m.first, m.at, max(0, len(rows)-height))
	m.first = max(m.first, m.at-height+1)
}

// pictured takes in what a look has found.
func (m *model) pictured(p picture) {
	if before := m.picture; before != nil {
		p.follow(before)
		m.rated = !p.cut && !before.cut && p.began.After(before.began)
		if m.rated {
			granted, released := changes(before.leases, p.leases)
			seconds := p.began.Sub(before.began).Seconds()
			m.grants, m.releases = float64(granted)/seconds, float64(released)/seconds
		}
		before.leases = nil
	}
	if m.err != nil {
		m.work[examining].due = m.now
	}
	m.picture, m.arrived, m.err, m.so = &p, m.now, nil, progress{}
}

// failed takes in that a look came to nothing. What was seen before stays.
func (m *model) failed(err error) {
	if m.err == nil {
		m.failing = m.now
		m.work[examining].due = m.now // the places are hardly as they were
	}
	m.err, m.so, m.rated = err, progress{}, false
}

// sort orders the table by s, or the other way round if it is ordered by s already.
func (m *model) sort(s sorting) {
	if m.view.sort == s {
		m.view.reversed = !m.view.reversed
	} else {
		m.view.sort, m.view.reversed = s, false
	}
	m.lookAgain()
}

// lookAgain has the next look begin at once, if the rows that were kept are not all there are.
func (m *model) lookAgain() {
	m.top()
	if m.partial() {
		m.restart(looking)
	}
}

// partial reports whether there are names that the latest look has not kept.
func (m *model) partial() bool { return m.picture == nil || m.picture.names > len(m.picture.rows) }

// top puts the mark at the top, whatever will stand there.
func (m *model) top() { m.chosen, m.at, m.first = driver.Key{}, 0, 0 }

func (m *model) open(k driver.Key) {
	m.page, m.shown, m.detail, m.openErr, m.scroll = one, k, nil, nil, 0
	m.restart(opening)
}

// pace makes the interval longer or shorter by so many steps.
func (m *model) pace(steps int) {
	at := 0
	for at < len(Intervals)-1 && Intervals[at] < m.opts.Interval {
		at++
	}
	if steps > 0 && Intervals[at] > m.opts.Interval {
		steps-- // it stood between two
	}
	m.opts.Interval = Intervals[max(0, min(at+steps, len(Intervals)-1))]
	w := &m.work[looking]
	if soon := m.now.Add(m.opts.Interval); !w.busy && soon.Before(w.due) {
		w.due = soon
	}
}
