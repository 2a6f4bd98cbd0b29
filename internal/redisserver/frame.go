package redisserver

import (
	"bytes"
	"strconv"
)

// frames finds where the values end in a stream of RESP2 or RESP3, which comes in pieces of any size. See
// https://redis.io/docs/latest/develop/reference/protocol-spec.
type frames struct {
	kind byte   // of the value that the stream is in: its first byte
	lost bool   // the stream is no RESP: each piece counts as a value
	line []byte // what has come of a line
	bulk int    // bytes of a string that are still to come
	left []int  // values that are still to come in each of the lists around
}

// next returns how many bytes of a piece belong to the value that the stream is in, and whether the value
// ends with them.
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
		if over && f.up() {
			return n, true
		}
	}
	return len(piece), f.lost
}

// inLine takes bytes up to the end of a line, and reports whether a value ends with it.
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
	case '|': // attributes, and then the value that they are about
		f.left = append(f.left, 2*size+1)
		size = 1
	default:
		f.lost = true
	}
	f.lost = f.lost || err != nil
	return end + 1, size <= 0 && f.bulk == 0 && !f.lost
}

// up notes that a value is over, and reports whether the one that the stream is in is, too.
func (f *frames) up() bool {
	for len(f.left) > 0 {
		last := len(f.left) - 1
		if f.left[last]--; f.left[last] > 0 {
			return false
		}
		f.left = f.left[:last]
	}
	return true
}
