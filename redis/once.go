package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// once is a command that the client sends at most once. If it sent a request again whose reply was lost, the answer would be that
// to the second one: a release that has worked would say "not held", and a refusal would hide that the first
// request had an effect.
type once struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// evalsha makes the command that runs a script.
func evalsha(ctx context.Context, sha string, keys []string, args []any) once {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", sha, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	cmd.SetFirstKeyPos(3)
	return once{cmd}
}
