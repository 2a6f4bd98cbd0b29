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

// key is the first of its keys.
func (o once) key() string { return *o.Args()[3].(*string) }

// words are a script as it is sent: EVALSHA, its hash, how many keys it has, these, and its arguments. The keys are pointers to
// texts, as arguments may be: unlike texts they need no memory of their own to be of any type.
type words []any

func newWords(keys []string, args ...any) words {
	w := make(words, 3, 3+len(keys)+len(args))
	w[2] = len(keys)
	for i := range keys {
		w = append(w, &keys[i])
	}
	return append(w, args...)
}

// guarded adds the marker of the slot to the keys, if the script looks at it.
func (w words) guarded(p *program, s script, n names) words {
	if !p.guarded || !s.grants() {
		return w
	}
	keys := w[2].(int)
	marker := p.config.slotMarker(n.slot())
	all := make(words, 0, len(w)+1)
	all = append(all, w[:3+keys]...)
	all = append(append(all, &marker), w[3+keys:]...)
	all[2] = keys + 1
	return all
}

// command makes the command that runs the script as a server knows it. The words may be used again when there is an answer.
func (w words) command(ctx context.Context, p *program, s script) once {
	return w.send(ctx, evalsha, p, s)
}

// The commands that run a script. A server lets users run a script by the second one who may not write, and the script may not, either.
const evalsha, evalshaToLook = "evalsha", "evalsha_ro"

// send makes the command that runs the script by one of the commands that there are for that.
func (w words) send(ctx context.Context, by string, p *program, s script) once {
	w[0], w[1] = by, &p.sha[s]
	cmd := redis.NewCmd(ctx, w...)
	cmd.SetFirstKeyPos(3)
	return once{cmd}
}
