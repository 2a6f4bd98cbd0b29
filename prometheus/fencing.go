package leaseholdprometheus

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/leasehold-go/leasehold/fence"
)

// Fenced counts err as a fencing rejection of the resource if it is a [fence.ErrStale], and returns err unchanged. Wrap
// it around what raises a mark: in the program that is refused, in the program that refuses, or in both under different
// names:
//
//	err := metrics.Fenced("order", fence.Do(ctx, db, mark, lease.Token(), work))
func (m *Metrics) Fenced(resource string, err error) error {
	if errors.Is(err, fence.ErrStale) {
		m.resourceOf(resource).rejections.Inc()
	}
	return err
}

// FencedHandler counts a fencing rejection of the resource for each request that next refuses for its token with
// [fence.Refuse], as the handlers of package fence do.
func (m *Metrics) FencedHandler(resource string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&refusalCounter{ResponseWriter: w, metrics: m, resource: resource}, r)
	})
}

// refusalCounter counts an answer if it is a refusal.
type refusalCounter struct {
	http.ResponseWriter
	metrics  *Metrics
	resource string
	status   int
}

// Unwrap supports http.ResponseController.
func (w *refusalCounter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *refusalCounter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. A refusal is written in one piece.
func (w *refusalCounter) Write(text []byte) (int, error) {
	if w.status == http.StatusPreconditionFailed {
		resp := &http.Response{StatusCode: w.status, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(text))}
		_ = w.metrics.Fenced(w.resource, fence.FromResponse(resp)) // the result is not needed
	}
	return w.ResponseWriter.Write(text)
}
