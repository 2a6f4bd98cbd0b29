package redisurl

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// hello is the beginning of what a server says of itself.
const hello = "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"

// What a server says of itself counts, and not the same text in a name or in a holder text.
func TestNamesSayNothingAboutTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		replies []string
		what    string // that is wrong, or nothing
	}{
		{[]string{hello, "$80\r\nmode\r\n$8\r\nsentinel\r\n"}, ""},
		{[]string{hello, "*1\r\n$60\r\n-ERR This instance has cluster support disabled\r\n"}, ""},
		{[]string{strings.Replace(hello, "$10\r\nstandalone", "$8\r\nsentinel", 1)}, "this server is a Sentinel"},
		{[]string{hello, "-ERR This instance has cluster support disabled\r\n"},
			"this server is not part of a Cluster"},
		{[]string{hello[:50], hello[50:], "+OK\r\n"}, ""},
	} {
		near, far := net.Pipe()
		go func() {
			for _, reply := range c.replies {
				_, _ = io.WriteString(far, reply)
			}
			far.Close()
		}()
		got, err := io.ReadAll((&Target{scheme: "redis"}).checkRole(near, "a:1", false))
		near.Close()
		wrong, is := errors.AsType[*MismatchError](err)
		switch {
		case c.what != "" && (!is || wrong.What != c.what):
			t.Errorf("%q: %v, want %s", c.replies, err, c.what)
		case c.what == "" && (err != nil || string(got) != strings.Join(c.replies, "")):
			t.Errorf("%q: %q, %v", c.replies, got, err)
		}
	}
}
