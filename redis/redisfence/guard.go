package redisfence

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// Guard reads and writes what a mark protects. [Raise] returns it. Each call compares and raises the mark again, in the
// same atomic step, so a Guard whose token has become stale is refused. A Guard is safe for concurrent use. It holds no
// resources, and need not be closed.
type Guard struct {
	client redis.UniversalClient
	mark   Mark
	token  uint64
}

// Raise raises the mark to the token, and returns a Guard that may now read and write. A token that is equal
// to the mark passes. The error is a fence.ErrStale if the mark is larger, a fence.ErrInvalid if nothing was
// sent because a value is not allowed (as a *redis.Ring is not), a fence.ErrUnknown if there was no answer,
// and otherwise that of the server.
func Raise(ctx context.Context, client redis.UniversalClient, m Mark, token uint64) (*Guard, error) {
	if isNil(client) {
		return nil, &fence.ValueError{Field: "client", Value: "nil", Allowed: "a client of go-redis"}
	}
	if _, ring := client.(*redis.Ring); ring {
		return nil, &fence.ValueError{Field: "client", Value: "*redis.Ring",
			Allowed: "another, since a Ring moves keys to other servers when one fails, where there are no marks: " +
				"a Cluster, or one client for each server"}
	}
	if err := m.check(token); err != nil {
		return nil, err
	}
	g := &Guard{client: client, mark: m, token: token}
	if _, err := g.run(ctx, raiseScript, nil); err != nil {
		return nil, err
	}
	return g, nil
}

// isNil reports whether the client is nil, or a nil pointer of a client's type.
func isNil(client redis.UniversalClient) bool {
	switch c := client.(type) {
	case nil:
		return true
	case *redis.Client:
		return c == nil
	case *redis.ClusterClient:
		return c == nil
	}
	return false
}

// Token returns the token to which the mark was raised.
func (g *Guard) Token() uint64 { return g.token }

// Get returns the string at a key, and redis.Nil if there is none.
func (g *Guard) Get(ctx context.Context, key string) (string, error) {
	return textAnswer(g.Do(ctx, "GET", key))
}

// Set sets the string at a key, which then has no expiry. Use [Guard.Do] for the options of SET.
func (g *Guard) Set(ctx context.Context, key string, value any) error {
	_, err := g.Do(ctx, "SET", key, value)
	return err
}

// HGet returns a field of the hash at a key, and redis.Nil if there is none.
func (g *Guard) HGet(ctx context.Context, key, field string) (string, error) {
	return textAnswer(g.Do(ctx, "HGET", key, field))
}

// HSet sets fields of the hash at a key. Pairs are a field, its value, the next field, and so on.
func (g *Guard) HSet(ctx context.Context, key string, pairs ...any) error {
	_, err := g.Do(ctx, "HSET", key, pairs...)
	return err
}

// maxArguments limits the arguments of a command or a script, since Lua has them on its stack.
const maxArguments = 4000

// Do runs any command whose first argument is its only key, such as GET, HGETALL, INCRBY, LPUSH, EXPIRE or
// ZADD, with at most 4000 arguments. It returns the answer as Lua has it: a string, an int64, or a []any of
// those. An answer of nil is the error redis.Nil. Other errors are those of [Raise], and a *SlotError.
//
// If the server answers with an error, the command has not been done, but the mark is raised.
func (g *Guard) Do(ctx context.Context, command, key string, args ...any) (any, error) {
	if command == "" {
		return nil, &fence.ValueError{Field: "command", Value: `""`,
			Allowed: "a command whose first argument is its only key, as in HSET"}
	}
	return g.run(ctx, commandScript, []string{key}, append([]any{command}, args...)...)
}

// Eval runs a script of yours, which finds its keys in KEYS and its arguments in ARGV, as if it were run by
// itself. It may use no other keys. The answer is returned as by [Guard.Do]. The text is sent to each server
// once, and its hash from then on, so put what changes into the arguments. A script cannot begin with "#!".
//
// Redis undoes nothing: if the script fails half-way, which is an error of the server, what it did before
// stays. Nor does SCRIPT KILL end a script that takes too long, since raising the mark was a write.
func (g *Guard) Eval(ctx context.Context, script string, keys []string, args ...any) (any, error) {
	switch {
	case strings.HasPrefix(script, "#!"):
		return nil, &fence.ValueError{Field: "script", Value: quoted(script),
			Allowed: `one without "#!", since it becomes part of another one`}
	case strings.TrimSpace(script) == "":
		return nil, &fence.ValueError{Field: "script", Value: quoted(script), Allowed: "the text of a Lua script"}
	}
	return g.run(ctx, wrapScript(script), keys, args...)
}

// run runs a script that uses mark.lua, and reads its answer.
func (g *Guard) run(ctx context.Context, s *luascript.Script, keys []string, args ...any) (any, error) {
	if g == nil || g.client == nil {
		return nil, &fence.ValueError{Field: "guard", Value: "nil", Allowed: "one that Raise has returned"}
	}
	if len(args) > maxArguments || len(keys) > maxArguments {
		return nil, &fence.ValueError{Field: "arguments", Value: fmt.Sprint(max(len(args), len(keys))),
			Allowed: fmt.Sprintf("at most %d, and as many keys", maxArguments)}
	}
	if err := g.mark.checkKeys(g.client, keys); err != nil {
		return nil, err
	}
	answer, err := s.Run(ctx, g.client, false,
		append([]string{g.mark.Key}, keys...), append([]any{g.token, g.mark.Field}, args...))
	if err != nil {
		return nil, explainError(err)
	}
	return g.readAnswer(answer)
}

// readAnswer reads the answer of a script: {1, what was asked for} or {0, the mark}.
func (g *Guard) readAnswer(answer any) (any, error) {
	pair, _ := answer.([]any)
	if len(pair) != 2 {
		return nil, errUnexpectedAnswer
	}
	switch pair[0] {
	case int64(1):
		if pair[1] == nil {
			return nil, redis.Nil
		}
		return pair[1], nil
	case int64(0):
		have, err := parseToken(pair[1])
		if err != nil {
			return nil, err
		}
		return nil, &fence.StaleError{Name: g.mark.Key, Have: have, Want: g.token}
	}
	return nil, errUnexpectedAnswer
}
