package redisserver

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ReplyError is an error that a server replied, such as "NOSCRIPT No matching script.".
type ReplyError string

// Error implements error.
func (e ReplyError) Error() string { return string(e) }

// Code returns the first word, such as "NOSCRIPT".
func (e ReplyError) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// request encodes a command in RESP. See
// https://redis.io/docs/latest/develop/reference/protocol-spec.
func request(args []string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b
}

// readReply reads one reply in RESP2: a string, an int64, nil, a []any of those, or a ReplyError.
func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, fmt.Errorf("the reply begins with an empty line")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return ReplyError(rest), nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the reply has no number in its line %q", line)
	}
	switch {
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		text := make([]byte, n+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}
		return string(text[:n]), nil
	case kind == '*':
		all := make([]any, n)
		for i := range all {
			if all[i], err = readReply(r); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return nil, fmt.Errorf("the reply is of an unknown kind %q", kind)
}
