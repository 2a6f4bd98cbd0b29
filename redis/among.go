package redis

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// Among makes the engine one of several whose servers keep the same locks together, as package redlock has them. A
// word in the marker of each server says to which list of servers it belongs ("-" if to none), and may reports why a
// server with that word grants and renews nothing for this program; nil if it does. The word is read at most a second
// before each request to grant or renew something. It does nothing on an engine without the guard, or in a Cluster.
//
// It is to be called before the first request. may is called from any goroutine, and must not block.
func (e *Engine) Among(may func(word string) error) { e.among = &among{may} }

// among is the list of an engine.
type among struct{ may func(word string) error }

// mayGrant is why a server may not grant anything, or renew it, as it belongs to another list; nil for what never
// grants.
func (p *place) mayGrant(on *server, may may) error {
	if p.config.among == nil || may == never {
		return nil
	}
	word := on.list.Load()
	if word == nil {
		if p.config.guard {
			return errUnlisted
		}
		return nil
	}
	if err := p.config.among.may(*word); err != nil {
		return noEffect(err)
	}
	return nil
}

// errUnlisted is that it is not known to which list a server belongs.
var errUnlisted = driver.NoEffect(errors.New("redis: the server has not said yet with which others it is used: try again"))

// unlisted reports whether it was not read yet to which list a server belongs.
func (p *place) unlisted(s *server) bool { return p.config.among != nil && s.list.Load() == nil }

// Enlist writes into the marker of the server to which list it belongs, if it still belongs to the one named before
// ("-" for none). Closing lets it grant nothing for the longest lease from now on. It returns the word that is there
// in the end: the new one, or that of somebody who was faster. Without the guard there is no marker, and nothing is
// done.
func (e *Engine) Enlist(ctx context.Context, before, word string, closing bool) (now string, err error) {
	if e.ears.closed() {
		return "", errClosed
	}
	if !e.guard {
		return word, nil
	}
	n := e.names(driver.Key{Kind: driver.Lock, Name: "any"})
	on, err := e.place.server(ctx, n, false) // there is a marker when it has been met
	if err != nil {
		return "", err
	}
	args := []any{before, word}
	if closing {
		args = append(args, e.maxTTL.Milliseconds())
	}
	cmd := newWords([]string{e.onlyMarker()}, args...).command(ctx, on.program, listNodes)
	answer, err := e.evaluate(ctx, cmd)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		_, err = e.place.learn(ctx, n, on)
		if err == nil {
			err = errScripts // it is another server by now: try again
		}
	}
	if err != nil {
		return "", explain(err)
	}
	now, isText := answer.(string)
	if !isText {
		return "", errReply
	}
	_, err = e.place.learn(ctx, n, nil) // so that the next request goes by what is there now
	return now, err
}

// listOf reads the word in the marker of a server, without meeting it.
func (c *config) listOf(ctx context.Context, client redis.Cmdable) (string, error) {
	text, err := client.Get(ctx, c.onlyMarker()).Result()
	if err == redis.Nil {
		return noList, nil
	}
	if err != nil {
		return "", explain(err)
	}
	if fields := strings.Fields(text); len(fields) >= 5 {
		return fields[4], nil
	}
	return noList, nil // of an earlier version
}

// noList is the word of a server that belongs to none.
const noList = "-"
