package etcd

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// sink is a connection that keeps what is written to it.
type sink struct {
	net.Conn
	mu      sync.Mutex
	written bytes.Buffer
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written.Write(b)
}

// take returns what was written since it was last called.
func (s *sink) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.written.Reset()
	return s.written.String()
}

// frame returns an HTTP/2 frame of a stream.
func frame(payload string) string {
	header := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	return string(header) + "\x00\x00\x00\x00\x00\x01" + payload
}

const (
	preface  = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	ack      = pingAckHeader + "01234567"
	otherAck = pingAckHeader + "76543210"
)

// openSink returns a connection that has just been opened.
func openSink() (*pingAcks, *sink) {
	s := new(sink)
	return newPingAcks(s, nil, pingAckDelay), s
}

func mustWrite(t *testing.T, c net.Conn, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if n, err := c.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("written: %d of %d, %v", n, len(part), err)
		}
	}
}

// The answer to a ping is sent a moment later, once, and never inside of a frame.
func TestAnswersToPingsWait(t *testing.T) {
	t.Parallel()
	fourAcks := strings.Repeat(ack, maxHeldAcks)
	long := frame(strings.Repeat("x", 300))
	for name, c := range map[string]struct {
		sent          []string
		atOnce, later string
		rest          string // written after the delay
		last          string
	}{
		"alone":          {[]string{preface, ack}, preface, ack, "", ""},
		"before a frame": {[]string{preface, ack, long}, preface + long, ack, "", ""},
		"with frames":    {[]string{preface, long + ack + long}, preface + long + long, ack, "", ""},
		"cut in two":     {[]string{preface, ack[:5], ack[5:]}, preface + ack, "", "", ""},
		"two":            {[]string{preface, ack, otherAck}, preface, ack + otherAck, "", ""},
		"too many":       {[]string{preface, ack, ack, ack, ack, otherAck}, preface + otherAck, fourAcks, "", ""},
		"in a header":    {[]string{preface, ack, long[:5]}, preface + long[:5], "", long[5:], long[5:] + ack},
		"after a header": {[]string{preface, ack, long[:9]}, preface + long[:9], "", long[9:], long[9:] + ack},
		"in a frame":     {[]string{preface, frame(ack)[:9], ack}, preface + frame(ack), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, s := openSink()
				mustWrite(t, conn, c.sent...)
				time.Sleep(pingAckDelay - 1)
				if got := s.take(); got != c.atOnce {
					t.Errorf("at once: %q, want %q", got, c.atOnce)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if got := s.take(); got != c.later {
					t.Errorf("later: %q, want %q", got, c.later)
				}
				mustWrite(t, conn, c.rest)
				if got := s.take(); got != c.last {
					t.Errorf("at last: %q, want %q", got, c.last)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// An answer does not make a connection look silent, since nobody answers it. A request that is not answered does.
func TestAnswersToPingsAreNotAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		below := &connection{Conn: new(sink)}
		conn := newPingAcks(below, below, pingAckDelay)
		mustWrite(t, conn, preface)
		for _, isAsked := range []bool{false, true} {
			below.unansweredSince.Store(0)
			if isAsked {
				mustWrite(t, conn, frame("request"))
			}
			mustWrite(t, conn, ack)
			time.Sleep(time.Hour)
			if waits := below.unansweredSince.Load() != 0; waits != isAsked {
				t.Errorf("it waits for an answer: %v, want %v", waits, isAsked)
			}
		}
	})
}

// However the frames are cut into pieces, all of them arrive whole, and so do the answers.
func TestFramesStayWhole(t *testing.T) {
	t.Parallel()
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			conn, s := openSink()
			mustWrite(t, conn, preface)
			wantFrames, wantAcks := "", 0
			for range 20 {
				if rand.IntN(2) == 0 {
					mustWrite(t, conn, ack)
					wantAcks++
				}
				part := frame(strings.Repeat("y", rand.IntN(40)))
				wantFrames += part
				at := rand.IntN(len(part))
				mustWrite(t, conn, part[:at])
				time.Sleep(time.Duration(rand.Int64N(int64(2 * pingAckDelay))))
				mustWrite(t, conn, part[at:])
			}
			time.Sleep(time.Second)
			got := strings.TrimPrefix(s.take(), preface)
			frames, acks := "", 0
			for len(got) >= len(pingAckHeader) {
				n := min(len(pingAckHeader)+int(got[2]), len(got))
				if strings.HasPrefix(got, pingAckHeader) {
					acks++
				} else {
					frames += got[:n]
				}
				got = got[n:]
			}
			if frames != wantFrames || acks != wantAcks || got != "" {
				t.Fatalf("%d of %d answers, frames %q, want %q, left: %q", acks, wantAcks, frames, wantFrames, got)
			}
		})
	}
}

// A server sends no ping after a request as long as its last one has no answer.
func TestServerSendsFewPings(t *testing.T) {
	t.Parallel()
	server := etcdserver.ForTest(t, etcdserver.Config{Volatile: true})
	var pings atomic.Int64
	e, err := openWith("etcd://"+relayTo(t, server.Addr(), &pings), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.connections.ackDelay = time.Hour // before it connects
	const pairs = 50
	for i := range pairs {
		r := waitRequest
		r.Owner = fmt.Sprint(i)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		g, err := e.Take(ctx, r)
		if err == nil {
			err = e.Release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner, Token: g.Token}})
		}
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := pings.Load(); n > 5 { // the server's keepalive may be among them, and answers that are cut in two
		t.Errorf("%d pings while %d locks were taken and released", n, pairs)
	}
}

// relayTo passes a connection on to a server, and counts the pings that come from there. It returns its address.
func relayTo(t *testing.T, address string, pings *atomic.Int64) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				_ = client.Close()
				return
			}
			go func() {
				_, _ = io.Copy(server, client)
				_ = server.Close()
			}()
			go relayFrames(client, server, pings)
		}
	}()
	return listener.Addr().String()
}

// relayFrames passes frames on.
func relayFrames(to, from net.Conn, pings *atomic.Int64) {
	defer to.Close()
	const isPing, isAck = 6, 1
	for header := make([]byte, len(pingAckHeader)); ; {
		if _, err := io.ReadFull(from, header); err != nil {
			return
		}
		if header[3] == isPing && header[4]&isAck == 0 {
			pings.Add(1)
		}
		size := int64(header[0])<<16 | int64(header[1])<<8 | int64(header[2])
		if _, err := to.Write(header); err != nil {
			return
		}
		if _, err := io.CopyN(to, from, size); err != nil {
			return
		}
	}
}
