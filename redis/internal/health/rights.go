package health

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed rights_of.lua
var rightsOfLua string

// What a server says about a right.
const RightAllowed, RightForbidden, RightUnknown = 0, 1, 2

// AskRights finds out for each command whether the user may send it: RightAllowed, RightForbidden, or RightUnknown if
// the server does not know the command. It runs none of them. The answer is empty if the server cannot tell.
func AskRights(ctx context.Context, c redis.Cmdable, commands [][]string) ([]int64, error) {
	sha, err := c.ScriptLoad(ctx, rightsOfLua).Result()
	if err != nil {
		return nil, err
	}
	return c.EvalShaRO(ctx, sha, nil, rightsArgs(commands)...).Int64Slice()
}

// AskRightsWithoutLoading is AskRights for users who need no right to load scripts.
func AskRightsWithoutLoading(ctx context.Context, c redis.Cmdable, commands [][]string) ([]int64, error) {
	return redis.NewScript(rightsOfLua).RunRO(ctx, c, nil, rightsArgs(commands)...).Int64Slice()
}

func rightsArgs(commands [][]string) (args []any) {
	for _, command := range commands {
		args = append(args, len(command))
		for _, word := range command {
			args = append(args, word)
		}
	}
	return args
}
