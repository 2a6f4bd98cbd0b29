package wire

// requests reads requests in the Redis protocol: *ARGUMENTS, and for each of them $LENGTH and the
// bytes; all lines end with \r\n.
type requests struct {
	counter   *Counter
	arguments int // remaining arguments of this command
	skip      int // remaining bytes of an argument
	number    int // in the present line
}

func (r *requests) read(p []byte) {
	for len(p) > 0 {
		if r.skip > 0 {
			n := min(r.skip, len(p))
			r.skip -= n
			p = p[n:]
			continue
		}
		b := p[0]
		p = p[1:]
		switch {
		case '0' <= b && b <= '9':
			r.number = r.number*10 + int(b-'0')
		case b == '\n':
			r.line()
		}
	}
}

// line handles a complete line.
func (r *requests) line() {
	if r.arguments == 0 {
		r.arguments = r.number
		r.counter.commands.Add(1)
	} else {
		r.arguments--
		r.skip = r.number + len("\r\n")
	}
	r.number = 0
}
