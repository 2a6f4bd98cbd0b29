package redisson

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// publishCommand returns the command with which releases notify waiters. A Cluster is asked once whether it knows
// sharded channels, as Redisson does when it starts.
func (e *Engine) publishCommand(ctx context.Context) (string, error) {
	if known := e.publishWith.Load(); known != nil {
		return *known, nil
	}
	command := "PUBLISH"
	if e.isCluster && e.messages != Unsharded {
		command = "SPUBLISH"
		if e.messages == Auto {
			switch err := e.client.PubSubShardNumSub(ctx).Err(); {
			case isUnknownCommand(err):
				command = "PUBLISH"
			case err != nil:
				return "", explain(err)
			}
		}
	}
	e.publishWith.Store(&command)
	return command, nil
}

// isUnknownCommand reports whether the server is too old for a command.
func isUnknownCommand(err error) bool {
	return redis.HasErrorPrefix(err, "unknown") || redis.HasErrorPrefix(err, "Unknown")
}
