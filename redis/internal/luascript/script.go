// Package luascript runs Lua scripts on Redis servers, each request at most once, and converts their arguments.
package luascript

import (
	"context"
	"crypto/sha1" // by which Redis names scripts
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

// Script is a script with the hash by which servers know it. It does not change.
type Script struct{ text, hash string }

// New returns a script from its text.
func New(text string) *Script {
	sum := sha1.Sum([]byte(text)) // see above
	return &Script{text, hex.EncodeToString(sum[:])}
}

// Hash returns the hash by which servers know the script.
func (s *Script) Hash() string { return s.hash }

// SingleCommand is a command that the client sends at most once, whatever its MaxRetries. If the client sent it again
// after its reply was lost, the answer would be that to the second request: a release that worked would be answered
// with "not held", and a refusal would hide that the first request had an effect.
type SingleCommand struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (SingleCommand) NoRetry() bool { return true }

// The commands that run a script by its hash, and the suffix for users without the right to write: the script may not
// write either then.
const byHash, byText, readOnlySuffix = "evalsha", "eval", "_ro"

// Command returns the command that runs the script by its hash.
func (s *Script) Command(ctx context.Context, readOnly bool, keys []string, args []any) SingleCommand {
	return newCommand(ctx, byHash, s.hash, readOnly, keys, args)
}

// CommandByText returns the command that runs the script by its text, for a server that does not know the hash.
func (s *Script) CommandByText(ctx context.Context, readOnly bool, keys []string, args []any) SingleCommand {
	return newCommand(ctx, byText, s.text, readOnly, keys, args)
}

func newCommand(
	ctx context.Context, command, script string, readOnly bool, keys []string, args []any,
) SingleCommand {
	if readOnly {
		command += readOnlySuffix
	}
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, command, script, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	cmd.SetFirstKeyPos(3) // which tells a Cluster client the server
	return SingleCommand{cmd}
}

// Run runs the script by its hash, or by its text where the server does not know it.
func (s *Script) Run(
	ctx context.Context, client redis.UniversalClient, readOnly bool, keys []string, args []any,
) (any, error) {
	answer, err := process(ctx, client, s.Command(ctx, readOnly, keys, args))
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = process(ctx, client, s.CommandByText(ctx, readOnly, keys, args))
	}
	return answer, err
}

func process(ctx context.Context, client redis.UniversalClient, cmd SingleCommand) (any, error) {
	err := client.Process(ctx, cmd)
	answer, failed := cmd.Result() // a pipelined client waits here, and has its error only here
	if err == nil {
		err = failed
	}
	return answer, err
}
