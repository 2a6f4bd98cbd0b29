package wire

import (
	"io"
	"net"
	"testing"
)

// Two commands, one with an argument that looks like the beginning of a command, and an empty one.
const requests = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$8\r\n*1\r\n$1\r\n\r\n" + "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n"

func TestCommandsAreCountedHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	for size := 1; size <= len(requests); size++ {
		var counter Counter
		client, server := net.Pipe()
		go io.Copy(io.Discard, server)
		watched := counter.Watch(client)
		for rest := requests; rest != ""; {
			n := min(size, len(rest))
			if _, err := io.WriteString(watched, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		watched.Close()
		if got := counter.Commands(); got != 2 {
			t.Fatalf("in pieces of %d bytes: %d commands, want 2", size, got)
		}
	}
}
