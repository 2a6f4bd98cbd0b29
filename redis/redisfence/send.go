package redisfence

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// singleCommand is a command that the client sends at most once, whatever its MaxRetries. If the client sent
// it again after its reply was lost, the answer would be that to the second request: the command might add
// twice, or be refused for a stale token although the first request has written.
type singleCommand struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (singleCommand) NoRetry() bool { return true }

// send runs a script by its hash, or by its text where the server does not know it.
func send(ctx context.Context, client redis.UniversalClient, script script, keys []string, args []any) (any, error) {
	answer, err := sendOnce(ctx, client, "evalsha", script.hash, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = sendOnce(ctx, client, "eval", script.text, keys, args)
	}
	return answer, err
}

func sendOnce(
	ctx context.Context, client redis.UniversalClient, command, script string, keys []string, args []any,
) (any, error) {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, command, script, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := singleCommand{redis.NewCmd(ctx, append(words, args...)...)}
	cmd.SetFirstKeyPos(3) // which tells a Cluster client the server
	err := client.Process(ctx, cmd)
	answer, failed := cmd.Result() // a pipelined client waits here, and has its error only here
	if err == nil {
		err = failed
	}
	return answer, err
}
