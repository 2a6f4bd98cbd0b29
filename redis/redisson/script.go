package redisson

import (
	"context"
	"crypto/sha1"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

// script is a Lua script, and the hash by which servers know it.
type script struct{ text, hash string }

func newScript(text string) *script {
	sum := sha1.Sum([]byte(text)) // the hash that Redis has chosen
	return &script{text, hex.EncodeToString(sum[:])}
}

// singleCommand is a command that the client sends at most once, whatever its options say. If it repeated a request
// whose reply was lost, the answer would be to the second request: an unlock that worked would be answered with "not
// held".
type singleCommand struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (singleCommand) NoRetry() bool { return true }

// command returns the command that runs the script of a call: with its hash, or with all of its text.
func (c call) command(ctx context.Context, withText bool) singleCommand {
	word, which := "evalsha", c.script.hash
	if withText {
		word, which = "eval", c.script.text
	}
	if c.isRead() {
		word += "_ro" // the user may have no right to write
	}
	words := make([]any, 0, 3+len(c.keys)+len(c.args))
	words = append(words, word, which, len(c.keys))
	for _, key := range c.keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, c.args...)...)
	cmd.SetFirstKeyPos(3)
	return singleCommand{cmd}
}

// eval runs the script of a call.
func (c call) eval(ctx context.Context, client redis.UniversalClient) (any, error) {
	cmd := c.command(ctx, false)
	err := client.Process(ctx, cmd)
	if redis.HasErrorPrefix(err, "NOSCRIPT") { // it was not run, and is remembered when it is sent as text
		cmd = c.command(ctx, true)
		err = client.Process(ctx, cmd)
	}
	return cmd.Val(), err
}
