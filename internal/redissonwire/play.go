package redissonwire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// Side is what plays the calls: a real Redisson, or clients of ours. Its methods are called one at a time, but for
// Call, which may wait meanwhile.
type Side interface {
	// Open opens a client on the server. Its connections must bear the client's name (CLIENT SETNAME). The options are
	// those of the file, such as watchdog=6000.
	Open(ctx context.Context, client string, options map[string]string) error
	// Begin tells that a thread of a client is about to make its first call.
	Begin(ctx context.Context, client, thread string) error
	// Call makes a call in a thread of a client. It returns nil, a bool, an int64, a string, or a []any of those. If
	// the call fails as Redisson's does, the error wraps a Failure.
	Call(ctx context.Context, c Call) (any, error)
	// Interrupt interrupts the call that a thread is making.
	Interrupt(ctx context.Context, client, thread string) error
	// Labels returns "CLIENT:THREAD" for each owner "UUID:THREAD-ID" that has been used.
	Labels() map[string]string
}

// Call is a call of a method of an object, as lab/redisson/javaside has it.
type Call struct {
	Client, Thread string
	Op             string // kind of the object and method, such as "lock.tryLock"
	Name           string
	Args           []any // strings, int64s, and []any of strings
}

// Failure is the class of the exception with which Redisson's call fails, such as "IllegalMonitorStateException".
type Failure string

// Error implements error.
func (f Failure) Error() string { return string(f) }

// Options say how a file is played.
type Options struct {
	// Update writes what the steps did into the file, instead of comparing.
	Update bool
	// Version leaves out the parts that this version of Redisson does not have. Default: none.
	Version string
	// Skip tells which lines are not compared, of the file and of what was recorded. Default: all are.
	Skip func(part, line string) bool
	// Rewrite changes the lines of a step before they are compared, those of the file and those that were recorded, to
	// what they have in common. Default: none.
	Rewrite func(lines []string) []string
	// Parts tells which parts are played. Default: all.
	Parts func(title string) bool
}

// Effects is a value of Options.Skip: what calls return, what they write and publish, and which keys they leave is
// compared, but not how they read, subscribe and send scripts.
func Effects(_, line string) bool {
	return strings.HasPrefix(line, "c ") || strings.HasPrefix(line, "r ")
}

// How long a step may take until it has done what it should, and how long nothing must happen until it is over when
// nobody knows what it should do.
const (
	stepLimit    = 10 * time.Second
	quiet        = 200 * time.Millisecond
	lookInterval = 5 * time.Millisecond
)

// Setup starts what a file is played on: servers (one, or the masters of a cluster), which must have no other clients,
// and a side whose clients are new.
type Setup func() (Side, []*redisserver.Server)

// Play plays the calls of a file, and fails the test where what they did differs from what the file says. Much of that
// are times, so a file that was played while the machine was late is played again.
func Play(t *testing.T, path string, setup Setup, o Options) {
	t.Helper()
	f, err := parse(path)
	if err != nil {
		t.Fatal(err)
	}
	problems := make(map[string]string)
	lateness.Try(t, func() string {
		clear(problems)
		side, servers := setup()
		r := Record(t, servers...)
		for _, open := range f.open {
			if err := side.Open(t.Context(), open.client, open.options); err != nil {
				t.Fatalf("%s: %s: %v", filepath.Base(path), open.line, err)
			}
		}
		pl := newPlayer(side, r, o)
		first := ""
		for _, p := range f.parts {
			if !o.plays(p) {
				continue
			}
			problems[p.title] = pl.play(t.Context(), p)
			first = cmp.Or(first, problems[p.title])
		}
		return first
	})
	for _, p := range f.parts {
		if o.Parts != nil && !o.Parts(p.title) {
			continue
		}
		t.Run(p.title, func(t *testing.T) {
			if !o.plays(p) {
				t.Skipf("Redisson has it since %s", p.since)
			}
			if problem := problems[p.title]; problem != "" {
				t.Fatal(problem)
			}
		})
	}
	if o.Update {
		if err := f.write(); err != nil {
			t.Fatal(err)
		}
	}
}

// plays reports whether a part is played.
func (o Options) plays(p *part) bool {
	return (o.Parts == nil || o.Parts(p.title)) && (o.Version == "" || p.since == "" || !olderThan(o.Version, p.since))
}

// player plays the parts of a file.
type player struct {
	side     Side
	recorder *Recorder
	options  Options
	limit    time.Duration
	begun    map[string]bool

	// Of one part:
	part    *part
	normal  *normalizer
	values  map[string]any
	pending map[string]<-chan outcome
}

// outcome is that of a call.
type outcome struct {
	value any
	err   error
}

func newPlayer(side Side, r *Recorder, o Options) *player {
	return &player{side: side, recorder: r, options: o, limit: stepLimit, begun: map[string]bool{}}
}

// begin begins a part.
func (pl *player) begin(p *part) {
	pl.part, pl.values, pl.pending = p, map[string]any{}, map[string]<-chan outcome{}
	pl.normal = newNormalizer()
}

// play plays a part, and returns what is wrong with what it did.
func (pl *player) play(ctx context.Context, p *part) (problem string) {
	pl.begin(p)
	for _, s := range p.steps { // clients and threads exist before the recording begins
		if err := pl.prepare(ctx, s.line); err != nil {
			return err.Error()
		}
	}
	if err := pl.recorder.Clear(); err != nil {
		return err.Error()
	}
	for _, s := range p.steps {
		did, problem := pl.step(ctx, s)
		if problem == "" && pl.options.Update {
			s.did = did
		} else if problem != "" {
			return fmt.Sprintf("> %s\n%s", s.line, problem)
		}
	}
	for thread := range pl.pending {
		return fmt.Sprintf("the call of %s has not been waited for", thread)
	}
	return ""
}

// prepare opens the client of a step, or begins its thread.
func (pl *player) prepare(ctx context.Context, line string) error {
	if strings.HasPrefix(line, "open ") {
		o, err := parseOpening(line)
		if err != nil {
			return err
		}
		return pl.side.Open(ctx, o.client, o.options)
	}
	c, ok := parseCall(line, nil)
	if !ok {
		return nil
	}
	thread := c.Client + "/" + c.Thread
	if pl.begun[thread] {
		return nil
	}
	pl.begun[thread] = true
	return pl.side.Begin(ctx, c.Client, c.Thread)
}

// step makes a step, and returns what it did, and what is wrong with that.
func (pl *player) step(ctx context.Context, s *step) (did []string, problem string) {
	result, err := pl.act(ctx, s.line)
	if err != nil {
		return nil, err.Error()
	}
	if pl.options.Update {
		return pl.settled(result, s.line == "await")
	}
	return pl.awaited(result, s.did)
}

// act does what a step says, and returns the lines of the result.
func (pl *player) act(ctx context.Context, line string) ([]string, error) {
	words := strings.Fields(line)
	switch words[0] {
	case "sleep":
		ms, err := strconv.Atoi(words[1])
		time.Sleep(time.Duration(ms) * time.Millisecond)
		return nil, err
	case "await", "open":
		return nil, nil
	case "do":
		_, err := pl.recorder.Do(words[1:]...)
		return nil, err
	}
	variable := ""
	if len(words) > 2 && words[1] == "=" {
		variable, line = words[0], strings.Join(words[2:], " ")
	}
	c, ok := parseCall(line, pl.values)
	if !ok {
		return nil, fmt.Errorf("a step of an unknown form")
	}
	thread := c.Client + "/" + c.Thread
	switch {
	case c.Op == "interrupt":
		return nil, pl.side.Interrupt(ctx, c.Client, c.Thread)
	case c.Op == "wait" && pl.pending[thread] == nil:
		return nil, fmt.Errorf("thread %s makes no call", thread)
	case c.Op == "wait":
		result := pl.pending[thread]
		delete(pl.pending, thread)
		select {
		case o := <-result:
			return pl.result(o, variable), nil
		case <-time.After(pl.limit):
			return nil, fmt.Errorf("the call of %s has not returned within %v", thread, pl.limit)
		}
	}
	result := make(chan outcome, 1)
	go func() {
		v, err := pl.side.Call(ctx, c)
		result <- outcome{v, err}
	}()
	if strings.HasSuffix(line, " &") {
		pl.pending[thread] = result
		return nil, nil
	}
	select {
	case o := <-result:
		return pl.result(o, variable), nil
	case <-time.After(pl.limit):
		return nil, fmt.Errorf("the call has not returned within %v", pl.limit)
	}
}

// result says what a call has returned, and keeps it in a variable.
func (pl *player) result(o outcome, variable string) []string {
	if o.err != nil {
		if f, ok := errors.AsType[Failure](o.err); ok {
			return []string{"! " + string(f)}
		}
		return []string{"! (no failure of Redisson) " + o.err.Error()}
	}
	if variable != "" {
		pl.values[variable] = o.value
	}
	pl.normal.labels = pl.side.Labels()
	return []string{"= " + pl.normal.value(o.value, time.Now())}
}

// recording is what was recorded since the last step.
type recording struct {
	lines    []string
	blocks   []block
	messages int
}

func (pl *player) look(result []string) (recording, error) {
	blocks, messages, err := pl.recorder.recorded()
	if err != nil {
		return recording{}, err
	}
	keys, err := pl.recorder.Snapshot()
	if err != nil {
		return recording{}, err
	}
	pl.normal.labels = pl.side.Labels()
	now := time.Now()
	lines := slices.Clone(result)
	lines = append(lines, pl.normal.commandLines(blocks)...)
	lines = append(lines, pl.normal.messageLines(messages, now)...)
	lines = append(lines, pl.normal.keyLines(keys, now)...)
	return recording{lines, blocks, len(messages)}, nil
}

// settled returns what was recorded as soon as nothing more happens.
func (pl *player) settled(result []string, something bool) (did []string, problem string) {
	began, last, lastChange := time.Now(), recording{}, time.Now()
	for {
		now, err := pl.look(result)
		if err != nil {
			return nil, err.Error()
		}
		if difference(now.lines, last.lines) != "" {
			last, lastChange = now, time.Now()
		}
		enough := quiet
		if something { // some clients may do it a little later than others
			enough = 3 * quiet
		}
		if time.Since(lastChange) > enough && (!something || len(last.blocks) > 0) {
			pl.recorder.take(last.blocks, last.messages)
			return last.lines, ""
		}
		if time.Since(began) > pl.limit {
			return nil, fmt.Sprintf("it goes on for more than %v:\n%s", pl.limit, strings.Join(now.lines, "\n"))
		}
		time.Sleep(lookInterval)
	}
}

// awaited waits until what was recorded is what is wanted.
func (pl *player) awaited(result, want []string) (did []string, problem string) {
	want = pl.compared(want)
	for began := time.Now(); ; time.Sleep(lookInterval) {
		now, err := pl.look(result)
		if err != nil {
			return nil, err.Error()
		}
		d := difference(pl.compared(now.lines), want)
		if d == "" {
			pl.recorder.take(now.blocks, now.messages)
			return now.lines, ""
		}
		if time.Since(began) > pl.limit {
			return nil, d
		}
	}
}

// compared returns the lines that are compared.
func (pl *player) compared(lines []string) []string {
	lines = slices.Clone(lines)
	if pl.options.Skip != nil {
		lines = slices.DeleteFunc(lines, func(line string) bool { return pl.options.Skip(pl.part.title, line) })
	}
	if pl.options.Rewrite != nil {
		lines = pl.options.Rewrite(lines)
	}
	return lines
}

// parseCall reads a step such as "a/t1 lock.tryLock x 0 10000 ms &".
func parseCall(line string, values map[string]any) (Call, bool) {
	line = strings.TrimSuffix(line, " &")
	if _, rest, ok := strings.Cut(line, " = "); ok {
		line = rest
	}
	words := strings.Fields(line)
	if len(words) < 2 {
		return Call{}, false
	}
	client, thread, ok := strings.Cut(words[0], "/")
	if !ok {
		return Call{}, false
	}
	c := Call{Client: client, Thread: thread, Op: words[1], Args: []any{}}
	if len(words) > 2 {
		c.Name = words[2]
		for _, w := range words[3:] {
			c.Args = append(c.Args, argument(w, values))
		}
	}
	return c, true
}

// argument reads an argument: a number, a list as in "[a,$id]", a variable, or a word.
func argument(w string, values map[string]any) any {
	if list, ok := strings.CutPrefix(w, "["); ok {
		all := []any{}
		for e := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ",") {
			all = append(all, argument(e, values))
		}
		return all
	}
	if name, ok := strings.CutPrefix(w, "$"); ok {
		return values[name]
	}
	if n, err := strconv.ParseInt(w, 10, 64); err == nil {
		return n
	}
	return w
}
