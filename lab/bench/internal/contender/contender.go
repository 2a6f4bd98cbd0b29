// Package contender is a second process that asks for a lock from time to time, while the first one
// is busy with it. It is the same program, started again.
package contender

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
)

// task is the environment variable that makes the program a contender.
const task = "LEASEHOLD_BENCH_CONTENDER"

// turnTimeout is how long a contender waits for one turn.
const turnTimeout = 3 * time.Second

// Spec says what to ask for.
type Spec struct {
	Library   string // by its name
	Addrs     []string
	Name      string // of the lock
	CheckFile string // shared by all holders
}

// Answer says how long a contender waited for its turns, in milliseconds.
type Answer struct {
	Turns  int
	Median float64
	Max    float64
	Error  string
}

// Contender is a running process.
type Contender struct {
	process *exec.Cmd
	stop    io.Closer
	out     *bufio.Reader
}

// Start starts a process and returns when it is ready to ask.
func Start(ctx context.Context, s Spec) (*Contender, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	p := exec.CommandContext(ctx, self)
	p.Env = append(os.Environ(), task+"="+string(text))
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	a := &Contender{process: p, stop: in, out: bufio.NewReader(out)}
	if _, err := a.out.ReadString('\n'); err != nil {
		return nil, fmt.Errorf("the second process is not ready: %w", errors.Join(err, in.Close(), p.Wait()))
	}
	return a, nil
}

// Stop ends the process after its present turn, and returns its results.
func (a *Contender) Stop() (Answer, error) {
	a.stop.Close()
	var answer Answer
	err := json.NewDecoder(a.out).Decode(&answer)
	err = errors.Join(err, a.process.Wait())
	if err == nil && answer.Error != "" {
		err = errors.New("in the second process: " + answer.Error)
	}
	return answer, err
}

// Main turns this process into a contender if it was started as one, and then exits. It must be
// called before everything else.
func Main(libraries []lib.Library) {
	text := os.Getenv(task)
	if text == "" {
		return
	}
	var s Spec
	answer, err := Answer{}, json.Unmarshal([]byte(text), &s)
	if err == nil {
		answer, err = s.run(libraries)
	}
	if err != nil {
		answer.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func (s Spec) run(libraries []lib.Library) (Answer, error) {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_, _ = io.Copy(io.Discard, os.Stdin) // returns when stdin is closed, or the parent process has ended
	}()
	j, err := checker.Open(s.CheckFile)
	if err != nil {
		return Answer{}, err
	}
	defer j.Close()
	var session lib.Session
	for _, l := range libraries {
		if l.Name == s.Library {
			session, err = l.Open(lib.Config{Addrs: s.Addrs})
		}
	}
	if session == nil {
		return Answer{}, errors.Join(fmt.Errorf("there is no library %q", s.Library), err)
	}
	defer session.Close()
	warm, err := session.Lock(context.Background(), s.Name+":warm")
	if err != nil {
		return Answer{}, err
	}
	if err := warm.Release(); err != nil {
		return Answer{}, err
	}
	fmt.Println("ready")

	var waits []time.Duration
	for {
		waited, err := takeTurn(session, s.Name, j)
		if err != nil {
			return Answer{}, err
		}
		waits = append(waits, waited)
		select {
		case <-stopped:
			return Answer{
				Turns:  len(waits),
				Median: stat.Percentile(waits, 0.5).Seconds() * 1000,
				Max:    stat.Percentile(waits, 1).Seconds() * 1000,
			}, nil
		case <-time.After(rand.N(20 * time.Millisecond)):
		}
	}
}

// takeTurn returns how long it took to get the lock, or how long it tried.
func takeTurn(s lib.Session, name string, j *checker.Checker) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), turnTimeout)
	defer cancel()
	asked := time.Now()
	held, err := s.Lock(ctx, name)
	waited := time.Since(asked)
	switch {
	case err != nil && ctx.Err() != nil:
		return waited, nil
	case err != nil:
		return 0, err
	}
	const who = 1 << 32 // differs from all clients of the first process
	j.Enter(who, held.Token)
	j.Leave(who)
	return waited, held.Release()
}
