package redisserver

import (
	"bufio"
	"bytes"
	"fmt"
)

// Action is what a Proxy does with a request.
type Action int

const (
	// Pass sends the request on.
	Pass Action = iota
	// CutBefore closes the connection. The server never sees the request.
	CutBefore
	// CutAfter sends the request on, waits for its reply, and closes the connection. The client
	// never sees the reply.
	CutAfter
	// Hold keeps the request, and all later ones on its connection, until Release. Then it is sent
	// on, even if the client has closed the connection meanwhile.
	Hold
)

// Words returns the words of a request that Proxy.Intercept has passed to its function, such as
// "GET" and "a", or nil if it is not a command of the Redis protocol.
func Words(request []byte) []string {
	value, err := readReply(bufio.NewReader(bytes.NewReader(request)))
	list, ok := value.([]any)
	if err != nil || !ok {
		return nil
	}
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = fmt.Sprint(w)
	}
	return words
}
