package top

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// shop returns the locks of a shop.
func shop() []admin.Status {
	semaphore := admin.Status{
		Key: driver.Key{Kind: driver.Semaphore, Name: "transcode"},
		Holders: []admin.Holder{
			{Token: 1795273412004201, Weight: 1, Holder: "media-1:881 ffmpeg-runner", TTL: 24 * time.Second,
				Age: 3 * time.Minute},
			{Token: 1795273412004202, Weight: 2, Holder: "media-2:190 ffmpeg-runner", TTL: 29 * time.Second,
				Age: 40 * time.Second},
		},
		Waiting: 7,
	}
	return []admin.Status{
		lock("cron:nightly", "db-2:1207 leasehold", 1795273412003990, 58*time.Minute, 26*time.Hour, 0),
		lock("deploy:shop", "build-7:4711 deployer release", 1795273412004112, 21*time.Second, 9200*time.Millisecond,
			3),
		lock("orders:sync", "app-3:77 orders", 1795273412004007, 2*time.Second, 61*time.Second, 0),
		lock("report", "app-3:77 orders", 12, driver.NoTTL, -1, 0),
		{Key: driver.Key{Kind: driver.Lock, Name: "wanted"}, Waiting: 1},
		semaphore,
		{Key: driver.Key{Kind: driver.Latch, Name: "warm-up"},
			Latch: &admin.LatchState{Count: 12, TTL: 10 * time.Minute}},
	}
}

func well(name string) admin.Server {
	return admin.Server{Name: name, Role: "master", Votes: true, RoundTrip: 420 * time.Microsecond}
}

// day lets a day pass in the shop: two listings, and an examination with two servers in trouble.
func (s *testModel) day() *testModel {
	s.t.Helper()
	due := s.startedRequests()
	s.respond(due[listNames], 12*time.Millisecond, shop()...)
	s.noteResponse(response{request: due[examineServers], examination: admin.Examination{
		Servers: []admin.Server{
			well("10.0.0.1:6379"), well("10.0.0.2:6379"), well("10.0.0.3:6379"),
			{Name: "10.0.0.4:6379", Votes: true, Closed: 48 * time.Second, RoundTrip: time.Millisecond},
			{Name: "10.0.0.5:6379", Err: admin.ErrSilent},
		},
		Findings: []admin.Finding{{Severity: admin.Warning, Code: "x"},
			{Severity: admin.Critical, Code: "y"}},
	}})
	s.advance(2 * time.Second)
	later := shop()
	later[1].Holders[0].Token++ // handed over
	later[0].Holders[0].TTL -= 30 * time.Minute
	s.show(later...)
	s.advance(300 * time.Millisecond)
	return s
}

func TestScreens(t *testing.T) {
	t.Parallel()
	for name, size := range map[string][2]int{"80x24": {80, 24}, "40x10": {40, 10}, "200x50": {200, 50},
		"20x6": {20, 6}} {
		s := newTestModel(t, Options{}).day()
		s.resize(size[0], size[1])
		s.scrollToSelected()
		compare(t, "table-"+name, s.draw().String())
		s.press("?")
		compare(t, "help-"+name, s.draw().String())
	}
	s := newTestModel(t, Options{ASCII: true, Kind: driver.Lock, Prefix: "ж"}).day()
	compare(t, "table-ascii", s.draw().String())
}

func TestScreensOfOneName(t *testing.T) {
	t.Parallel()
	open := func() (*testModel, request) {
		s := newTestModel(t, Options{}).day()
		s.press("n", "down", "enter")
		return s, s.start(inspectOne)
	}
	d := detail{
		status: shop()[1],
		votes: []admin.Vote{
			{Node: "10.0.0.1:6379", Holders: shop()[1].Holders},
			{Node: "10.0.0.4:6379", Closed: 48 * time.Second},
			{Node: "10.0.0.5:6379", Err: admin.ErrSilent},
			{Node: "10.0.0.6:6379", Err: errors.New("redis: NOPERM")},
		},
	}
	d.status.Queue = []admin.Waiter{
		{Mode: driver.Exclusive, Weight: 1, Holder: "build-8:4712 deployer release", Age: 8 * time.Second},
		{Mode: driver.Shared, Weight: 1, Holder: "app-3:77 orders", Age: 1500 * time.Millisecond},
	}
	for name, size := range map[string][2]int{"80x24": {80, 24}, "40x10": {40, 10}} {
		s, a := open()
		s.resize(size[0], size[1])
		compare(t, "one-polling-"+name, s.draw().String())
		s.noteResponse(response{request: a, detail: d})
		compare(t, "one-"+name, s.draw().String())
		s.press("end")
		compare(t, "one-end-"+name, s.draw().String())
		s.advance(10 * time.Second)
		s.noteResponse(response{request: s.start(inspectOne), err: leasehold.ErrUnavailable})
		s.press("home")
		compare(t, "one-stale-"+name, s.draw().String())
	}
}

func TestScreenWhileTheEngineFails(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	s.noteResponse(response{request: s.start(listNames),
		err: &leasehold.Error{Op: "list", Err: leasehold.ErrUnavailable, Cause: errors.New("connection refused")}})
	s.advance(3 * time.Second)
	compare(t, "down-at-first", s.draw().String())

	s = newTestModel(t, Options{}).day()
	s.advance(2 * time.Second)
	s.noteResponse(response{request: s.start(listNames), err: errors.New("connection refused")})
	s.advance(time.Second)
	compare(t, "stale", s.draw().String())
	for _, c := range s.draw().lines[7] { // the second row: the first one is selected
		if c.style != faint && c.text != " " {
			t.Errorf("%q is old, and does not look like it", c.text)
		}
	}
	s.advance(2 * time.Second)
	s.show(shop()...)
	if text := s.draw().String(); strings.Contains(text, "STALE") || strings.Contains(text, "refused") {
		t.Errorf("it is back:\n%s", text)
	}
}

// hostile are names and holders that try to break the screen.
var hostile = []string{
	"\x1b[31mred\x1b[0m", "a\r\nb\tc\x00\x07\x7f\u009b2J", "\x1b]0;title\x07", "\u202eevil\u202c", "bad\xff\xfeutf8",
	"日本語の名前", "👨‍👩‍👧‍👦", "❤\ufe0f", "🇩🇪", "👍🏽", "é́́́́́́́́",
	"\u0301first", "क्षत्रिय", "ﷺ", "Å\u200bz\u2060\ufeff", strings.Repeat("長", 400), strings.Repeat("x", 1024), " ",
	"\\", "q", "\u061c", "\u1160\u11a8", "\u2028\u2029", "\U000e0041",
}

func TestNamesDoNotBreakTheScreen(t *testing.T) {
	t.Parallel()
	var all []admin.Status
	for i, name := range hostile {
		all = append(all, lock(name, name+" "+name, uint64(i), time.Second, time.Second, i))
	}
	for _, ascii := range []bool{false, true} {
		s := newTestModel(t, Options{ASCII: ascii, Engine: hostile[0], Prefix: hostile[1]})
		s.show(all...)
		s.resize(100, 40)
		s.scrollToSelected()
		compare(t, map[bool]string{false: "hostile", true: "hostile-ascii"}[ascii], s.draw().String())
		for _, width := range []int{0, 1, 2, 3, 5, 11, 22, 46, 71, 117} {
			for _, height := range []int{0, 1, 2, 5, 8, 30} {
				s.resize(width, height)
				for _, p := range []page{pageTable, pageDetail, pageHelp} {
					s.page, s.openName, s.detail = p, all[width%len(all)].Key, &detail{status: all[width%len(all)]}
					s.scrollToSelected()
					wantFit(t, s.model)
				}
				s.page, s.typing, s.typed = pageTable, true, []rune(hostile[5]+hostile[15])
				wantFit(t, s.model)
				s.typing = false
			}
		}
	}
}

// wantFit fails the test unless any terminal can show the frame.
func wantFit(t *testing.T, m *model) {
	t.Helper()
	f := m.draw()
	if len(f.lines) > m.height || f.x >= max(1, m.width) || f.y >= max(1, m.height) {
		t.Fatalf("%d lines, cursor at %d,%d on a screen of %dx%d", len(f.lines), f.x, f.y, m.width, m.height)
	}
	for _, l := range f.lines {
		if n := cellsWidth(l); n > m.width {
			t.Fatalf("a line is %d wide on a screen of %dx%d", n, m.width, m.height)
		}
		for _, c := range l {
			for i, r := range c.text {
				if r < ' ' || r >= 0x7f && r < 0xa0 || r > '~' && m.opts.ASCII || i > 0 && !isMark(r) || c.width < 1 ||
					c.width > 2 {
					t.Fatalf("the letter %q, %d wide, is on a screen of %dx%d", c.text, c.width, m.width, m.height)
				}
			}
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-1: "?", 0: "0.0ms", 420 * time.Microsecond: "0.4ms", 12 * time.Millisecond: "12ms",
		999 * time.Millisecond: "999ms", time.Second: "1s",
		9999 * time.Millisecond: "9.9s", 10 * time.Second: "10s", 59 * time.Second: "59s", 61 * time.Second: "1m01s",
		time.Hour: "1h00m", 25 * time.Hour: "1d01h",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("%s is shown as %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := formatCount(n); got != want {
			t.Errorf("%d is shown as %q, want %q", n, got, want)
		}
	}
}
