package redisserver

import (
	"bytes"
	"strconv"
)

// frames finds the ends of values in a stream of RESP2 or RESP3, which comes in pieces of any size.
// See https://redis.io/docs/latest/develop/reference/protocol-spec.
type frames struct {
	kind byte   // the first byte of the present value
	lost bool   // the stream is not RESP: each piece counts as a value
	line []byte // the beginning of a line
	bulk int    // remaining bytes of a string
	left []int  // remaining values in each of the enclosing lists
}

// next returns how many bytes of a piece belong to the present value, and whether the value ends
// with them.
func (f *frames) next(piece []byte) (n int, ends bool) {
	if len(piece) > 0 && len(f.line) == 0 && f.bulk == 0 && len(f.left) == 0 {
		f.kind = piece[0]
		f.lost = f.lost || !bytes.ContainsRune([]byte("+-:$*_#,(!=%~>|"), rune(f.kind))
	}
	for n < len(piece) && !f.lost {
		var part int
		var over bool
		if f.bulk > 0 {
			part = min(f.bulk, len(piece)-n)
			f.bulk -= part
			over = f.bulk == 0
		} else {
			part, over = f.inLine(piece[n:])
		}
		n += part
		if over && f.endValue() {
			return n, true
		}
	}
	return len(piece), f.lost
}

// inLine reads bytes up to the end of a line, and reports whether a value ends with it.
func (f *frames) inLine(piece []byte) (n int, over bool) {
	end := bytes.IndexByte(piece, '\n')
	if end < 0 {
		f.line = append(f.line, piece...)
		return len(piece), false
	}
	line := append(f.line, piece[:end+1]...)
	f.line = line[:0]
	switch line[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return end + 1, true
	}
	size, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	switch line[0] {
	case '$', '!', '=':
		if size >= 0 {
			f.bulk = size + len("\r\n")
		}
	case '%':
		size *= 2
		fallthrough
	case '*', '~', '>':
		if size > 0 {
			f.left = append(f.left, size)
		}
	case '|': // attributes, followed by the value that they describe
		f.left = append(f.left, 2*size+1)
		size = 1
	default:
		f.lost = true
	}
	f.lost = f.lost || err != nil
	return end + 1, size <= 0 && f.bulk == 0 && !f.lost
}

// endValue notes that a value has ended, and reports whether the outermost value has ended, too.
func (f *frames) endValue() bool {
	for len(f.left) > 0 {
		last := len(f.left) - 1
		if f.left[last]--; f.left[last] > 0 {
			return false
		}
		f.left = f.left[:last]
	}
	return true
}
