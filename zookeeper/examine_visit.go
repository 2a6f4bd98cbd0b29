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

// visit is what was seen of a server.
type visit struct {
	place   driver.Place
	dial    dialer
	serves  bool   // clients can work with it
	without bool   // it answers, and says that it serves nobody
	first   uint64 // the last transaction that it knew of when the visit began
	last    uint64 // and when it ended
	refused []string
	longest time.Duration // timeout of a session; 0 if not known
	flushes int           // how often it has written transactions; -1 if not known
	syncs   int           // how often it has waited for the disk then
}

func newVisit(name string) *visit {
	return &visit{place: driver.Place{Name: name, Uptime: -1, RoundTrip: -1}, dial: new(net.Dialer).DialContext, flushes: -1}
}

// Answers of a server that does not do what a four-letter word asks for.
const (
	servesNobody = "not currently serving requests"
	wordRefused  = "is not executed because it is not in the whitelist"
)

var errServesNobody = errors.New("it serves nobody, as it has no leader")

// greet asks a server what it is. It is called several times, as the least of all round trips counts.
func (v *visit) greet(ctx context.Context) {
	if v.place.Err != nil {
		return
	}
	const word = "srvr"
	text, took, err := ask(ctx, v.dial, v.place.Name, word)
	if err != nil {
		v.place.Err = silence(err)
		return
	}
	if v.place.RoundTrip < 0 || took < v.place.RoundTrip {
		v.place.RoundTrip = took
	}
	v.serves = false
	switch {
	case strings.Contains(text, servesNobody):
		v.without, v.place.Err = true, errServesNobody
		return
	case strings.Contains(text, wordRefused):
		v.refuse(word)
		return
	}
	said := read(text, ": ")
	version, _, _ := strings.Cut(said["Zookeeper version"], ",")
	v.place.Version, _, _ = strings.Cut(version, "-")
	v.place.Role = said["Mode"]
	if v.last, err = strconv.ParseUint(strings.TrimPrefix(said["Zxid"], "0x"), 16, 64); err != nil || v.place.Role == "" {
		v.place.Err = fmt.Errorf("it is no ZooKeeper server, or a very old one: it answers %.60q", text)
		return
	}
	if v.first == 0 {
		v.first = v.last
	}
	v.without = v.place.Role == "read-only"
	v.serves = !v.without
}

// look asks a server what may be told of how it is set up, and how it fares.
func (v *visit) look(ctx context.Context) {
	if v.place.Err != nil {
		return
	}
	of := func(word, separator string) map[string]string {
		text, _, err := ask(ctx, v.dial, v.place.Name, word)
		if err == nil && strings.Contains(text, wordRefused) {
			v.refuse(word)
		}
		return read(text, separator) // if there is no answer, greet finds out
	}
	if ms, err := strconv.Atoi(of("conf", "=")["maxSessionTimeout"]); err == nil {
		v.longest = time.Duration(ms) * time.Millisecond
	}
	figures := of("mntr", "\t")
	number := func(name string) int {
		if n, err := strconv.Atoi(figures[name]); err == nil {
			return n
		}
		return -1
	}
	if ms := number("zk_uptime"); ms >= 0 {
		v.place.Uptime = time.Duration(ms) * time.Millisecond
	}
	v.flushes, v.syncs = number("zk_cnt_sync_processor_batch_size"), number("zk_cnt_fsynctime")
}

func (v *visit) refuse(word string) {
	if !slices.Contains(v.refused, word) {
		v.refused = append(v.refused, word)
	}
}

// read takes in lines of names and values.
func read(text, separator string) map[string]string {
	said := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), separator); found {
			said[name] = value
		}
	}
	return said
}

// longestAnswer is more than a server has to say, in bytes.
const longestAnswer = 1 << 20

// ask sends a four-letter word to a server, and measures how long it takes from then until the answer begins. See
// https://zookeeper.apache.org/doc/current/zookeeperAdmin.html#sc_4lw.
func ask(ctx context.Context, dial dialer, address, word string) (text string, took time.Duration, err error) {
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return "", 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // which has closed the connection
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
	answer := bufio.NewReader(io.LimitReader(conn, longestAnswer))
	if _, err := answer.Peek(1); err != nil {
		return "", 0, fmt.Errorf("it does not answer the word %s: %w", word, err)
	}
	took = time.Since(sent)
	all, err := io.ReadAll(answer)
	return string(all), took, err
}

// silence is the error of a place that has not answered, as the contract has it.
func silence(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return driver.ErrSilent
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Timeout() {
		return driver.ErrSilent
	}
	return err
}
