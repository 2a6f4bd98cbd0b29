package goside

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// request is one line of the input.
type request struct {
	ID     int64           `json:"id"`
	Client string          `json:"client"`
	Thread string          `json:"thread"`
	Op     string          `json:"op"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
}

// answer is one line of the output.
type answer struct {
	ID    int64  `json:"id"`
	Value any    `json:"value"`
	Error string `json:"error,omitempty"`
}

// session runs requests: those of one thread in their order, and those of different threads at the same time.
type session struct {
	mu      sync.Mutex
	out     io.Writer
	clients map[string]*client
	threads map[string]*thread
}

func newSession(out io.Writer) *session {
	return &session{out: out, clients: map[string]*client{}, threads: map[string]*thread{}}
}

// thread makes one call after the other. Objects of Redisson are held by threads, and those in Go by values: so each
// thread has its own.
type thread struct {
	requests  chan request
	objects   map[string]object
	interrupt context.CancelFunc // of the call that is under way
}

// queued is how many calls of a thread may wait.
const queued = 100

func (s *session) serve(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var r request
		d := json.NewDecoder(bytes.NewReader(line))
		if err := d.Decode(&r); err != nil {
			return fmt.Errorf("goside: the request %q: %w", line, err)
		}
		if r.Thread == "" {
			r.Thread = "main"
		}
		s.accept(r)
	}
}

func (s *session) accept(r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Client + "/" + r.Thread
	t := s.threads[key]
	if t == nil {
		t = &thread{requests: make(chan request, queued), objects: map[string]object{}}
		s.threads[key] = t
		go s.work(t)
	}
	if r.Op == "interrupt" { // the thread itself is busy
		if t.interrupt != nil {
			t.interrupt()
		}
		go s.answer(r, nil, nil)
		return
	}
	t.requests <- r
}

func (s *session) work(t *thread) {
	for r := range t.requests {
		ctx, cancel := context.WithCancel(context.Background())
		s.mu.Lock()
		t.interrupt = cancel
		s.mu.Unlock()
		v, err := s.value(ctx, t, r) // leases have contexts that are derived from ctx
		s.answer(r, v, err)
	}
}

func (s *session) answer(r request, v any, err error) {
	a := answer{ID: r.ID, Value: v}
	if err != nil {
		a.Error = "Exception: " + err.Error()
		switch {
		case errors.Is(err, objects.ErrNotHeld):
			a.Error = "IllegalMonitorStateException: " + err.Error()
		case errors.Is(err, context.Canceled):
			a.Error = "InterruptedException: " + err.Error()
		}
	}
	line, err := json.Marshal(a)
	if err != nil {
		line, _ = json.Marshal(answer{ID: r.ID, Error: "Exception: " + err.Error()}) // it is only text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(append(line, '\n')) // nobody listens if it fails
}

func (s *session) value(ctx context.Context, t *thread, r request) (any, error) {
	switch r.Op {
	case "open":
		return nil, s.open(r)
	case "close":
		c, err := s.client(r.Client)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		delete(s.clients, r.Client)
		s.mu.Unlock()
		return nil, c.close()
	}
	args, err := arguments(r.Args)
	if err != nil {
		return nil, err
	}
	o, method, err := s.object(t, r.Op, r.Client, r.Name)
	if err != nil {
		return nil, err
	}
	return o.call(ctx, method, args)
}

// arguments reads numbers and words. "ms" only says what the numbers before are.
func arguments(raw json.RawMessage) (all []any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var values []any
	if err := d.Decode(&values); err != nil {
		return nil, err
	}
	for _, v := range values {
		switch v := v.(type) {
		case json.Number:
			n, err := v.Int64()
			if err != nil {
				return nil, err
			}
			all = append(all, n)
		case string:
			if v != "ms" {
				all = append(all, v)
			}
		default:
			return nil, fmt.Errorf("goside: the argument %v is neither a number nor a word", v)
		}
	}
	return all, nil
}
