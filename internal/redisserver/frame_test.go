package redisserver

import (
	"slices"
	"testing"
)

// split returns the complete values of a stream that comes in pieces of the given size.
func split(stream string, size int) (values []string) {
	var f frames
	value := ""
	for piece := range slices.Chunk([]byte(stream), size) {
		for len(piece) > 0 {
			n, ends := f.next(piece)
			value += string(piece[:n])
			piece = piece[n:]
			if ends {
				values = append(values, value)
				value = ""
			}
		}
	}
	return values
}

func TestValuesAreFoundInPiecesOfAnySize(t *testing.T) {
	t.Parallel()
	values := []string{
		"+OK\r\n", "-ERR no\r\n", ":12\r\n", "$3\r\na\r\n\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n$1\r\na\r\n:1\r\n", "*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n+a\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n",
		"!5\r\nERR a\r\n", "=5\r\ntxt:a\r\n", "%1\r\n+a\r\n*1\r\n:1\r\n", "~1\r\n:1\r\n",
		">2\r\n+message\r\n$1\r\na\r\n",
		"|1\r\n+ttl\r\n:1\r\n*1\r\n:5\r\n", "%0\r\n", "|0\r\n:1\r\n", "*1\r\n$-1\r\n",
	}
	stream := ""
	for _, v := range values {
		stream += v
	}
	for size := 1; size <= len(stream); size++ {
		if got := split(stream, size); !slices.Equal(got, values) {
			t.Fatalf("in pieces of %d the values are %q, want %q", size, got, values)
		}
	}
}

func TestNonRESPIsRelayedUnchanged(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"PING\r\nPI", "\x16\x03\x01", "*x\r\na", "*1\r\nPING\r\n"} {
		if got := split(stream, len(stream)); len(got) != 1 || got[0] != stream {
			t.Errorf("%q became %q", stream, got)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got := Words(request([]string{"GET", "a b"})); !slices.Equal(got, []string{"GET", "a b"}) {
		t.Errorf("the words are %q", got)
	}
	for _, junk := range []string{"", "PING\r\n", "*2\r\n$1\r\na\r\n", "*-1\r\n"} {
		if got := Words([]byte(junk)); got != nil {
			t.Errorf("the words of %q are %q", junk, got)
		}
	}
}
