package exporter

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// Scrapes cost the engine nothing: it is polled once an interval, however many there are.
func TestScrapesDoNotAskTheEngine(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		w.start()
		for range 100 {
			w.scrape()
		}
		if n := w.engine.lookCount(); n != 1 {
			t.Errorf("%d looks, want that at the start", n)
		}
		time.Sleep(10*interval + time.Second)
		synctest.Wait()
		if n := w.engine.lookCount(); n != 11 {
			t.Errorf("%d looks in ten intervals, want 11", n)
		}
	})
}

func TestBeforeTheFirstPollNothingIsKnown(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		w.engine.hang = make(chan struct{})
		w.start()
		if got := w.scrape(); len(got) != 1 || got["leasehold_up"] != 0 {
			t.Errorf("exposed %v", got)
		}
		close(w.engine.hang)
		synctest.Wait()
		w.want(map[string]float64{"leasehold_up": 1})
	})
}

// The engine hangs and ignores its time limit: there is only one poll at a time, and the last result is not exposed for
// ever.
func TestAPollThatDoesNotEnd(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		w.start()
		hang := make(chan struct{})
		w.engine.mu.Lock()
		w.engine.hang = hang
		w.engine.mu.Unlock()
		time.Sleep(2 * interval)
		w.want(map[string]float64{"leasehold_up": 1}) // it is still new enough
		if code := w.get("/healthz").Code; code != http.StatusOK {
			t.Errorf("healthz answers %d", code)
		}
		time.Sleep(10 * interval)
		if got := w.scrape(); len(got) != 1 || got["leasehold_up"] != 0 {
			t.Errorf("exposed %v", got)
		}
		if r := w.get("/healthz"); r.Code != http.StatusServiceUnavailable ||
			!strings.Contains(r.Body.String(), "no poll") {
			t.Errorf("healthz answers %d %q", r.Code, r.Body)
		}
		if n := w.engine.lookCount(); n != 2 {
			t.Errorf("%d looks, want the one that hangs and that before", n)
		}
		close(hang)
		time.Sleep(interval)
		synctest.Wait()
		w.want(map[string]float64{"leasehold_up": 1})
		if code := w.get("/healthz").Code; code != http.StatusOK {
			t.Errorf("healthz answers %d", code)
		}
	})
}

// A poll that takes too long has failed.
func TestAPollThatTakesTooLong(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		slow := &slowEngine{fakeEngine: w.engine}
		w.w.Open = func() (*admin.Client, func(), error) { return admin.New(slow), func() {}, nil }
		w.start()
		time.Sleep(timeout)
		synctest.Wait()
		w.want(map[string]float64{"leasehold_up": 0, "leasehold_scrape_seconds": timeout.Seconds()})
		w.wantNone("leasehold_locks_held")
		if len(w.logged) != 1 || !strings.Contains(w.logged[0], "longer than 10s") {
			t.Errorf("it said %q", w.logged)
		}
	})
}

// An engine that cannot be opened is opened again with each poll: the server may not be up yet.
func TestAnEngineThatIsDownAtTheStart(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		open, opened, closed := w.w.Open, 0, 0
		w.w.Open = func() (*admin.Client, func(), error) {
			if opened++; opened <= 3 {
				return nil, nil, errors.New("connection refused")
			}
			c, shut, err := open()
			return c, func() { closed++; shut() }, err
		}
		stop := w.w.Start()
		synctest.Wait()
		w.want(map[string]float64{"leasehold_up": 0})
		w.wantNone("leasehold_locks_held")
		if code := w.get("/healthz").Code; code != http.StatusOK { // nothing is wrong with this server
			t.Errorf("healthz answers %d", code)
		}
		time.Sleep(3 * interval)
		synctest.Wait()
		w.want(map[string]float64{"leasehold_up": 1})
		time.Sleep(3 * interval)
		stop()
		if opened != 4 || closed != 1 || len(w.logged) != 2 || !strings.Contains(w.logged[0], "connection refused") {
			t.Errorf("opened %d times, closed %d times, said %q", opened, closed, w.logged)
		}
	})
}

// Stopping does not wait for a poll in flight, and reports nothing about it.
func TestStoppingCancelsAPoll(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		slow := &slowEngine{fakeEngine: w.engine}
		w.w.Open = func() (*admin.Client, func(), error) { return admin.New(slow), func() {}, nil }
		stop := w.w.Start()
		time.Sleep(time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took != 0 || len(w.logged) != 0 {
			t.Errorf("it took %s, and said %q", took, w.logged)
		}
	})
}

func TestThePagesOfTheServer(t *testing.T) {
	withExporter(t, func(t *testing.T, w *exporterTest) {
		// It must not break the page.
		w.engine.found.Servers = []driver.Server{{Name: "twice"}, {Name: "twice"}, {Name: "bad\xff"}}
		w.start()
		w.want(map[string]float64{`leasehold_node_up{node="twice"}`: 1, "leasehold_node_up{node=\"bad\uFFFD\"}": 1})
		for path, want := range map[string]int{"/": 200, "/healthz": 200, "/metrics": 200, "/other": 404,
			"/metrics/x": 404} {
			if r := w.get(path); r.Code != want || r.Body.Len() == 0 {
				t.Errorf("%s: status %d", path, r.Code)
			}
		}
		if text := w.get("/").Body.String(); !strings.Contains(text, `href="metrics"`) {
			t.Errorf("the front page has no link: %s", text)
		}
	})
}
