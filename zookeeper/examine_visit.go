package zookeeper

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// serverReport is what was found out about a server.
type serverReport struct {
	server       driver.Server
	dial         dialer
	serves       bool   // it serves clients
	hasNoLeader  bool   // it answers that it serves nobody
	firstZxid    uint64 // the last transaction that it knew of at first
	lastZxid     uint64 // and at last
	refusedWords []string
	maxTimeout   time.Duration // maximum session timeout; 0 if not known
	flushes      int           // number of writes of transactions; -1 if not known
	syncs        int           // number of waits for the disk in doing so
}

func newServerReport(name string) *serverReport {
	return &serverReport{
		server:  driver.Server{Name: name, Uptime: -1, RoundTrip: -1},
		dial:    new(net.Dialer).DialContext,
		flushes: -1,
	}
}

// Answers of a server that does not execute a four-letter word.
const (
	servesNobody = "not currently serving requests"
	wordRefused  = "is not executed because it is not in the whitelist"
)

var errServesNobody = errors.New("it serves nobody, as it has no leader")

// measure asks a server for its version and role, and measures the round trip. It is called several times, as the
// shortest round trip counts.
func (sr *serverReport) measure(ctx context.Context) {
	if sr.server.Err != nil {
		return
	}
	const word = "srvr"
	text, took, err := askWord(ctx, sr.dial, sr.server.Name, word)
	if err != nil {
		sr.server.Err = asSilent(err)
		return
	}
	if sr.server.RoundTrip < 0 || took < sr.server.RoundTrip {
		sr.server.RoundTrip = took
	}
	sr.serves = false
	switch {
	case strings.Contains(text, servesNobody):
		sr.hasNoLeader, sr.server.Err = true, errServesNobody
		return
	case strings.Contains(text, wordRefused):
		sr.noteRefused(word)
		return
	}
	said := parseFields(text, ": ")
	version, _, _ := strings.Cut(said["Zookeeper version"], ",")
	sr.server.Version, _, _ = strings.Cut(version, "-")
	sr.server.Role = said["Mode"]
	sr.lastZxid, err = strconv.ParseUint(strings.TrimPrefix(said["Zxid"], "0x"), 16, 64)
	if err != nil || sr.server.Role == "" {
		sr.server.Err = fmt.Errorf("it is no ZooKeeper server, or a very old one: it answers %.60q", text)
		return
	}
	if sr.firstZxid == 0 {
		sr.firstZxid = sr.lastZxid
	}
	sr.hasNoLeader = sr.server.Role == "read-only"
	sr.serves = !sr.hasNoLeader
}

// readSettings asks a server for its settings and counters, which it may refuse.
func (sr *serverReport) readSettings(ctx context.Context) {
	if sr.server.Err != nil {
		return
	}
	of := func(word, separator string) map[string]string {
		text, _, err := askWord(ctx, sr.dial, sr.server.Name, word)
		if err == nil && strings.Contains(text, wordRefused) {
			sr.noteRefused(word)
		}
		return parseFields(text, separator) // if there is no answer, measure reports it
	}
	if ms, err := strconv.Atoi(of("conf", "=")["maxSessionTimeout"]); err == nil {
		sr.maxTimeout = time.Duration(ms) * time.Millisecond
	}
	figures := of("mntr", "\t")
	number := func(name string) int {
		if n, err := strconv.Atoi(figures[name]); err == nil {
			return n
		}
		return -1
	}
	if ms := number("zk_uptime"); ms >= 0 {
		sr.server.Uptime = time.Duration(ms) * time.Millisecond
	}
	sr.flushes, sr.syncs = number("zk_cnt_sync_processor_batch_size"), number("zk_cnt_fsynctime")
}

func (sr *serverReport) noteRefused(word string) {
	if !slices.Contains(sr.refusedWords, word) {
		sr.refusedWords = append(sr.refusedWords, word)
	}
}

// parseFields parses lines of names and values.
func parseFields(text, separator string) map[string]string {
	said := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), separator); found {
			said[name] = value
		}
	}
	return said
}

// maxAnswer is larger than any answer of a server, in bytes.
const maxAnswer = 1 << 20

// askWord sends a four-letter word to a server, and measures the time until the answer begins. See
// https://zookeeper.apache.org/doc/current/zookeeperAdmin.html#sc_4lw.
func askWord(ctx context.Context, dial dialer, address, word string) (text string, took time.Duration, err error) {
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return "", 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // the end of ctx has closed the connection
		}
	}()
	if end, limited := ctx.Deadline(); limited {
		if err := conn.SetDeadline(end); err != nil {
			return "", 0, err
		}
	}
	sent := time.Now()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", 0, err
	}
	answer := bufio.NewReader(io.LimitReader(conn, maxAnswer))
	if _, err := answer.Peek(1); err != nil {
		return "", 0, fmt.Errorf("it does not answer the word %s: %w", word, err)
	}
	took = time.Since(sent)
	all, err := io.ReadAll(answer)
	return string(all), took, err
}

// asSilent turns the error of a server that has not answered in time into driver.ErrSilent.
func asSilent(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return driver.ErrSilent
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Timeout() {
		return driver.ErrSilent
	}
	return err
}
