package wire

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
)

// message is a length that includes itself bytes of its own, and a text, after an optional tag.
func message(tag string, itself int, text string) string {
	length := binary.BigEndian.AppendUint32(nil, uint32(len(text)+itself))
	return tag + string(length) + text
}

func TestCommandsAreCountedHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		watch func(*Counter, net.Conn) net.Conn
		sent  string
	}{
		// The first command has an argument that looks like the beginning of a command; the other
		// has an empty one.
		"Redis": {(*Counter).Redis,
			"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$8\r\n*1\r\n$1\r\n\r\n" + "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n"},
		// A statement in the extended protocol, with the messages before and after it, and a query
		// that looks like one.
		"PostgreSQL": {(*Counter).Postgres, message("", 4, "QEQE") + message("B", 4, "") + message("E", 4, "E") +
			message("S", 4, "") + message("Q", 4, message("E", 4, ""))},
		"ZooKeeper": {(*Counter).ZooKeeper,
			message("", 0, "open") + message("", 0, message("", 0, "")) + message("", 0, "close")},
	} {
		for size := 1; size <= len(c.sent); size++ {
			var counter Counter
			client, server := net.Pipe()
			go io.Copy(io.Discard, server)
			watched := c.watch(&counter, client)
			for rest := c.sent; rest != ""; {
				n := min(size, len(rest))
				if _, err := io.WriteString(watched, rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			watched.Close()
			if got := counter.Commands(); got != 2 {
				t.Fatalf("%s, in pieces of %d bytes: %d commands, want 2", name, size, got)
			}
		}
	}
}
