package redisfence

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// once is a command that the client sends at most once, whatever its MaxRetries. If it sent a request again whose reply was lost, the answer would be that to the second one: it might add twice, or
// be told that the token is too old although the first one has written.
type once struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// send runs a script by its hash, or by its text where the server does not know it.
func send(ctx context.Context, client redis.UniversalClient, script script, keys []string, args []any) (any, error) {
	answer, err := sendOnce(ctx, client, "evalsha", script.hash, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = sendOnce(ctx, client, "eval", script.text, keys, args)
	}
	return answer, err
}

func sendOnce(ctx context.Context, client redis.UniversalClient, command, script string, keys []string, args []any) (any, error) {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, command, script, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := once{redis.NewCmd(ctx, append(words, args...)...)}
	cmd.SetFirstKeyPos(3) // a Cluster finds the server by it
	err := client.Process(ctx, cmd)
	answer, failed := cmd.Result() // where commands go together this waits, and the error is only here
	if err == nil {
		err = failed
	}
	return answer, err
}
