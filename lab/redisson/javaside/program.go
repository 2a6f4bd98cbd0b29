package javaside

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/process"
)

// errEnded is the outcome of calls that the program can no longer answer.
var errEnded = errors.New("javaside: the program has ended")

// Program is a Java process with Redisson clients. Its methods Kill, Pause and Resume end, freeze and continue it;
// killed, it releases nothing. It is safe for concurrent use.
type Program struct {
	*process.Server

	t        needed.TB // nil outside tests
	logf     func(format string, args ...any)
	requests io.WriteCloser
	sending  sync.Mutex

	mu      sync.Mutex
	last    int64
	pending map[int64]*Pending
	ended   bool
}

// Start starts the program with a version of Redisson, [Newest] or [Oldest]. It is killed at the end of the test. If
// Java or the program is missing, the test is skipped, or fails if servers are needed: see package needed.
func Start(t needed.TB, version string) *Program {
	t.Helper()
	found, err := find(version)
	if err != nil {
		needed.Started(t, err, ErrMissing)
	}
	return StartCommand(t, "javaside: Redisson "+version, exec.Command(found.java, found.arguments(quick)...))
}

// StartCommand starts a program that answers calls as the one in Java does. It is killed at the end of the test.
func StartCommand(t needed.TB, name string, cmd *exec.Cmd) *Program {
	t.Helper()
	p, err := start(name, t.Logf, cmd)
	needed.Started(t, err, ErrMissing)
	p.t = t
	needed.End(t, p)
	return p
}

// Run starts the program outside tests, with Java's defaults, so that it can be measured. The caller closes it, and
// does not use methods that end tests. If Java or the program is missing, the error is an [ErrMissing].
func Run(version string) (*Program, error) {
	found, err := find(version)
	if err != nil {
		return nil, err
	}
	return start("javaside: Redisson "+version, log.Printf, exec.Command(found.java, found.arguments(nil)...))
}

func start(name string, logf func(format string, args ...any), cmd *exec.Cmd) (*Program, error) {
	s, err := process.NewServer(name, "", "redisson-", func() {})
	if err != nil {
		return nil, err
	}
	p := &Program{Server: s, logf: logf, pending: map[int64]*Pending{}}
	if err := p.launch(cmd); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return p, nil
}

// launch starts the process with a pipe for requests and one for answers.
func (p *Program) launch(cmd *exec.Cmd) error {
	in, requests, err := os.Pipe()
	if err != nil {
		return err
	}
	answers, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close(), requests.Close())
	}
	cmd.Stdin, cmd.Stdout = in, out
	_, err = p.Launch(cmd)
	_, _ = in.Close(), out.Close() // the process has copies
	if err != nil {
		return errors.Join(err, requests.Close(), answers.Close())
	}
	p.requests = requests
	go p.read(answers)
	return nil
}

// Close kills the program and removes its folder.
func (p *Program) Close() error {
	err := p.Server.Close()
	_ = p.requests.Close() // nobody reads it
	return err
}

// answer is one line of the program.
type answer struct {
	ID    int64           `json:"id"`
	Value json.RawMessage `json:"value"`
	Error string          `json:"error"`
}

// read hands answers to their calls until the program ends.
func (p *Program) read(answers io.ReadCloser) {
	defer answers.Close()
	in := bufio.NewReader(answers)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			p.end()
			return
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			p.logf("%v: an answer that is no JSON: %q: %v", p, line, err)
			continue
		}
		p.mu.Lock()
		call := p.pending[a.ID]
		delete(p.pending, a.ID)
		p.mu.Unlock()
		if call != nil {
			call.settle(a)
		}
	}
}

// end fails all calls without an answer.
func (p *Program) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for id, call := range p.pending {
		delete(p.pending, id)
		call.fail(errEnded)
	}
}

// send writes a request. Requests of one thread run in the order in which they were sent.
func (p *Program) send(r map[string]any) *Pending {
	call := &Pending{done: make(chan struct{})}
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		call.fail(errEnded)
		return call
	}
	p.last++
	id := p.last
	p.pending[id] = call
	p.mu.Unlock()
	r["id"] = id
	line, err := json.Marshal(r)
	if err == nil {
		_, err = p.requests.Write(append(line, '\n'))
	}
	if err != nil {
		p.mu.Lock()
		_, waits := p.pending[id]
		delete(p.pending, id)
		p.mu.Unlock()
		if waits {
			call.fail(fmt.Errorf("javaside: sending request %s: %w", strconv.FormatInt(id, 10), err))
		}
	}
	return call
}
