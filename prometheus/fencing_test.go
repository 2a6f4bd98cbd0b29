package leaseholdprometheus_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/leasehold-go/leasehold/fence"
)

func TestFencedCountsRejectionsOnly(t *testing.T) {
	t.Parallel()
	c := newCountedClient(t, "order")
	gate := fence.NewGate(new(fence.Memory))
	work := func(context.Context) error { return nil }
	noErr(t, c.metrics.Fenced("order", gate.Do(t.Context(), "order:1", 7, work)))
	if err := c.metrics.Fenced("order", gate.Do(t.Context(), "order:1", 6, work)); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("got %v, want the error of the gate", err)
	}
	for _, err := range []error{nil, fence.ErrUnknown, fence.ErrUnavailable, errors.New("else")} {
		if got := c.metrics.Fenced("order", err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	c.want(t, "after one", map[series]float64{{"fencing_rejections_total", "", ""}: 1})
}

func TestFencedHandler(t *testing.T) {
	t.Parallel()
	c := newCountedClient(t, "order")
	name := func(*http.Request) string { return "order:1" }
	gate := fence.NewGate(new(fence.Memory))
	handler := c.metrics.FencedHandler("order",
		gate.Handler(name, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/condition" { // refused for another reason, with another document
				http.Error(w, "changed meanwhile", http.StatusPreconditionFailed)
			}
			noErr(t, http.NewResponseController(w).Flush())
		})))
	put := func(path string, token int) int {
		r := httptest.NewRequest(http.MethodPut, path, nil)
		if token > 0 {
			r.Header.Set(fence.HeaderToken, strconv.Itoa(token))
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if token == 6 && !errors.Is(fence.FromResponse(w.Result()), fence.ErrStale) {
			t.Errorf("the answer %q was changed", w.Body)
		}
		return w.Code
	}
	for _, step := range []struct {
		path           string
		token, status  int
		rejectedBefore float64
	}{
		{"/", 7, http.StatusOK, 0},
		{"/condition", 7, http.StatusPreconditionFailed, 0},
		{"/", 0, http.StatusPreconditionRequired, 0},
		{"/", 6, http.StatusPreconditionFailed, 0},
		{"/", 6, http.StatusPreconditionFailed, 1},
	} {
		c.want(t, "before "+step.path, map[series]float64{{"fencing_rejections_total", "", ""}: step.rejectedBefore})
		if status := put(step.path, step.token); status != step.status {
			t.Errorf("%s with token %d: status %d, want %d", step.path, step.token, status, step.status)
		}
	}
	c.want(t, "at the end", map[series]float64{{"fencing_rejections_total", "", ""}: 2})
}
