package redisson

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/health"
)

// rights are the rights that the user lacks, as words of ACL SETUSER.
type rights struct {
	read, write, messages, listing []string
	keys                           bool // keys of the sample name may not be used
	unknown                        bool // the server cannot tell
}

// sampleName is a name whose keys and channels stand for those of all names.
const sampleName = "any"

// Commands of the scripts that read, and of those that change something.
var (
	readCommands = strings.Fields("exists get hexists hget hgetall hkeys hlen hmget lindex llen lrange pttl type " +
		"zcard zrange zrangebyscore zscore")
	writeCommands = strings.Fields("decr decrby del hdel hincrby hset incrby lrem pexpire pexpireat rpush set zadd " +
		"zincrby zrem zremrangebyscore")
)

// words are what each command has behind its key, at least.
var words = map[string][]string{
	"hexists": {""}, "hget": {""}, "hmget": {""}, "lindex": {"0"}, "lrange": {"0", "0"}, "zrange": {"0", "0"},
	"zrangebyscore": {"0", "0"}, "zscore": {""}, "decrby": {"1"}, "hdel": {""}, "hincrby": {"", "1"},
	"hset": {"", ""}, "incrby": {"1"}, "lrem": {"0", ""}, "pexpire": {"1"}, "pexpireat": {"1"}, "rpush": {""},
	"set": {""}, "zadd": {"1", ""}, "zincrby": {"1", ""}, "zrem": {""}, "zremrangebyscore": {"0", "0"},
}

// ask finds out which rights the user lacks. It runs none of the commands.
func (r *rights) ask(ctx context.Context, e *Engine, c redis.Cmdable) error {
	name := e.prefix + sampleName
	type need struct {
		word string
		to   *[]string
	}
	var needs []need
	var commands [][]string
	add := func(word string, to *[]string, command ...string) {
		needs, commands = append(needs, need{word, to}), append(commands, command)
	}
	for _, command := range readCommands {
		add("+"+command, &r.read, append([]string{command, name}, words[command]...)...)
	}
	for _, command := range writeCommands {
		add("+"+command, &r.write, append([]string{command, name}, words[command]...)...)
	}
	add("+evalsha", &r.write, "evalsha", "", "0")
	add("+eval", &r.write, "eval", "", "0")
	add("+time", &r.read, "time")
	if e.confirm.Replicas > 0 {
		add("+wait", &r.write, "wait", "1", "1")
	}
	add("+evalsha_ro", &r.read, "evalsha_ro", "", "0")
	add("+eval_ro", &r.read, "eval_ro", "", "0")
	add("+scan", &r.listing, "scan", "0")
	publish, subscribe := "publish", "subscribe"
	if e.isCluster && e.messages != Unsharded {
		publish, subscribe = "spublish", "ssubscribe"
	}
	channel := lockChannel(name)
	add("+"+publish+" &"+channel, &r.write, publish, channel, "")
	add("+"+subscribe+" &"+channel, &r.messages, subscribe, channel)
	answers, err := health.AskRightsWithoutLoading(ctx, c, commands)
	if isDenial(err) {
		r.unknown = true
		return nil
	}
	if err != nil {
		return err
	}
	if r.unknown = len(answers) != len(needs); r.unknown {
		return nil
	}
	keyed := answers[:len(readCommands)+len(writeCommands)]
	if r.keys = !slices.Contains(keyed, health.RightAllowed); r.keys {
		return nil
	}
	for i, need := range needs {
		if answers[i] != health.RightAllowed {
			*need.to = append(*need.to, need.word)
		}
	}
	return nil
}

// judge finds rights that the user lacks. A server that grants needs them now, a replica once it is promoted.
func (r *rights) judge(f *health.Findings, granting bool) {
	const fix = "see the rights in docs/redisson.md; give these with ACL SETUSER: "
	list := func(words []string) string { return strings.Join(words, " ") }
	switch {
	case r.unknown:
		f.Add(driver.Note, "rights-untold",
			"the server cannot say what the user may do, so the rights were not checked", "nothing")
		return
	case r.keys:
		f.Add(driver.Note, "rights-names", "the user may not use all names. "+
			"That is fine if the user is meant for some names only", "see the rights in docs/redisson.md")
		return
	case len(r.read) == 0 && len(r.write) >= len(writeCommands):
		f.Add(driver.Note, "rights-look",
			"the user can list locks, but cannot take any. That is fine if it is intended",
			"nothing, or the words of *lock* in docs/redisson.md#rights")
	case len(r.read)+len(r.write) > 0:
		missing := append(slices.Clone(r.read), r.write...)
		severity, when := driver.Critical, ""
		if !granting {
			severity, when = driver.Warning, " once it is promoted (rights are not copied from the master)"
		}
		f.Add(severity, "rights",
			"the user lacks "+list(missing)+": no lock can be granted, or not all of them"+when, fix+list(missing))
	}
	if len(r.listing) > 0 && granting {
		f.Add(driver.Warning, "rights-listing", "the user lacks "+list(r.listing)+": locks work, but cannot be listed",
			fix+list(r.listing))
	}
	if len(r.messages) > 0 && len(r.write) == 0 {
		f.Add(driver.Warning, "rights-messages", "the user lacks "+list(r.messages)+
			": waiters poll instead of being notified", fix+list(r.messages))
	}
}
