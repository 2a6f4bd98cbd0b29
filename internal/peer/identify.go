// Package peer finds out what listens at an address that does not answer as a client expects: a server with TLS
// although the client has none, or the reverse, or a server of another kind. It is for errors: what answers as it
// should is never asked anything.
package peer

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"regexp"
	"slices"
	"time"
)

// Kind is what listens at an address.
type Kind int

// The kinds that are told apart. All but TLS are in clear.
const (
	Unknown Kind = iota
	TLS
	Redis
	HTTP
	ZooKeeper
)

const (
	// identifyLimit is how long Identify may take.
	identifyLimit = time.Second
	// secondKindLimit is how long it goes on after the first kind.
	secondKindLimit = 500 * time.Millisecond
)

// Identify asks what listens at an address, over connections of its own. It sends nothing that is secret, and changes
// nothing there. There are several kinds if a server has TLS and clear text on one port, as etcd and ZooKeeper may.
func Identify(ctx context.Context, address string) (kinds []Kind) {
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	asks := []func(context.Context, net.Conn) Kind{
		shakeHands,
		// Redis takes this for a command with too many arguments, or asks for a password first.
		func(_ context.Context, c net.Conn) Kind { return answerTo(c, "GET / HTTP/1.0\r\n\r\n") },
		func(_ context.Context, c net.Conn) Kind { return answerTo(c, "srvr") },
	}
	found := make(chan Kind, len(asks))
	for _, ask := range asks {
		go func() {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			if err != nil {
				found <- Unknown
				return
			}
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			defer conn.Close()
			found <- ask(ctx, conn)
		}()
	}
	var enough <-chan time.Time
	for range asks {
		select {
		case k := <-found:
			if k == Unknown || slices.Contains(kinds, k) {
				continue
			}
			if kinds = append(kinds, k); enough == nil {
				enough = time.After(secondKindLimit)
			}
		case <-enough:
			return kinds
		}
	}
	return kinds
}

// shakeHands begins a TLS connection. It trusts anybody, and sends nothing over it.
func shakeHands(ctx context.Context, conn net.Conn) Kind {
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	op, is := errors.AsType[*net.OpError](err)
	if err == nil || is && op.Op == "remote error" { // an alert, for example as there is no certificate of the client
		return TLS
	}
	return Unknown
}

// answerTo sends a request, and tells the server by the beginning of its answer.
func answerTo(conn net.Conn, request string) Kind {
	if _, err := io.WriteString(conn, request); err != nil {
		return Unknown
	}
	answer := make([]byte, 512)
	n, _ := io.ReadAtLeast(conn, answer, len("HTTP/")) // what has come is enough
	return classify(answer[:n])
}

var saysHTTPS = regexp.MustCompile("HTTPS (server|port)")

// classify tells a server by the first bytes that it has sent.
func classify(answer []byte) Kind {
	switch {
	case len(answer) > 1 && (answer[0] == 0x15 || answer[0] == 0x16) && answer[1] == 3:
		return TLS // an alert, or its part of a handshake
	case bytes.HasPrefix(answer, []byte("HTTP/")) && saysHTTPS.Match(answer):
		return TLS // what servers in Go, and nginx, say in clear to a client without TLS
	case bytes.HasPrefix(answer, []byte("HTTP/")):
		return HTTP
	case bytes.HasPrefix(answer, []byte("-ERR ")), bytes.HasPrefix(answer, []byte("-NOAUTH ")),
		bytes.HasPrefix(answer, []byte("-DENIED ")), bytes.HasPrefix(answer, []byte("-LOADING ")):
		return Redis
	case bytes.HasPrefix(answer, []byte("Zookeeper version")), bytes.HasPrefix(answer, []byte("srvr is not executed")):
		return ZooKeeper
	}
	return Unknown
}
