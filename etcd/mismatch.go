package etcd

import (
	"errors"
	"strings"

	"github.com/leasehold-go/leasehold/internal/peer"
)

// These begin the errors for members with TLS although the URL has none, and the reverse. gRPC keeps only their texts.
const (
	speaksTLS = "this server speaks TLS: use etcds://"
	lacksTLS  = "this server does not speak TLS: use etcd://"
)

// newChecker returns a checker that finds out whether members have TLS.
func newChecker(tlsOn bool) *peer.Checker {
	return peer.NewChecker(func(k peer.Kind, address string) error {
		switch {
		case k == peer.HTTP && tlsOn: // an etcd server answers HTTP on the same port
			return errors.New(lacksTLS + address)
		case k == peer.TLS && !tlsOn:
			return errors.New(speaksTLS + address)
		}
		return nil
	})
}

// mismatchIn returns such an error without what gRPC has put around it, or "".
func mismatchIn(text string) string {
	for _, begin := range []string{speaksTLS, lacksTLS} {
		if i := strings.Index(text, begin); i >= 0 {
			address, _, _ := strings.Cut(text[i+len(begin):], `"`)
			return begin + address
		}
	}
	return ""
}

// mismatchError is an error of gRPC in which only the mismatch is of interest.
type mismatchError struct {
	text string
	err  error
}

// Error implements error.
func (e *mismatchError) Error() string { return e.text }

// Unwrap returns the error of gRPC.
func (e *mismatchError) Unwrap() error { return e.err }
