//go:build unix

package main

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"testing"
)

// A server that answers with errors full of escape sequences cannot steer the terminal: the error is one line, with the
// sequences escaped.
func TestErrorsOfServersSteerNoTerminal(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for buffer := make([]byte, 64<<10); ; {
					n, err := c.Read(buffer)
					if err != nil {
						return
					}
					commands := 1 + bytes.Count(buffer[:n], []byte("\r\n*"))
					if _,
						err := c.Write(bytes.Repeat([]byte("-ERR \x1b]0;title\a\x1b[31mred \u009b2J "+
						"\u202eturned\tx\r\n"), commands)); err != nil {
						return
					}
				}
			}()
		}
	}()
	m := newMachine(t).use("redis://" + l.Addr().String())
	for _, words := range []string{"ls", "ls -o json", "inspect a", "doctor", "doctor -o json", "audit", "leaks",
		"check a", "watch a", "run a -- true"} {
		r := m.do(strings.Fields(words)...)
		text := strings.TrimRight(r.out+r.err, "\n")
		if r.code != 69 || !strings.Contains(text, `\x1b]0;title`) || strings.ContainsFunc(text, func(c rune) bool {
			return c != '\n' && !strconv.IsPrint(c)
		}) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, %q", words, r.code, r.out, r.err)
		}
	}
}
