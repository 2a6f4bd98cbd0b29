package redis

import (
	"context"
	_ "embed"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

//go:embed scripts/may.lua
var mayLua string

// lacks are what the user lacks, as words of ACL SETUSER.
type lacks struct {
	denied   []string // without them no lock can be had
	hidden   []string // the server does not know them
	listing  []string
	messages []string // in words: whether the command or the channel is missing cannot always be told
	channels []string // what messages need
	spare    []string
	names    []string // keys of some names
	untold   bool     // the server cannot tell
}

// need is something that the user must be allowed.
type need struct {
	word    string // of ACL SETUSER
	command []string
	list    func(*lacks) *[]string // where it is noted if it is missing
}

func denied(r *lacks) *[]string   { return &r.denied }
func listing(r *lacks) *[]string  { return &r.listing }
func messages(r *lacks) *[]string { return &r.messages }
func spare(r *lacks) *[]string    { return &r.spare }

// plain are what needs no key.
func (e *Engine) plain(clustered bool) []need {
	n := e.names(driver.Key{Kind: driver.Lock, Name: sample})
	latch := n.beside + partLatch
	all := []need{
		{"+time", []string{"TIME"}, denied},
		{"+info", []string{"INFO"}, denied},
		{"+script|load", []string{"SCRIPT", "LOAD", ""}, denied},
		{"+evalsha", []string{"EVALSHA", "", "0"}, denied},
		{"+evalsha_ro", []string{"EVALSHA_RO", "", "0"}, denied},
		{"+scan", []string{"SCAN", "0"}, listing},
		{"+ping", []string{"PING"}, spare},
		{"+unwatch", []string{"UNWATCH"}, spare},
	}
	if e.replicas > 0 {
		all = append(all, need{"+wait", []string{"WAIT", "0", "0"}, denied})
	}
	if clustered {
		all = append(all, need{"+cluster|nodes", []string{"CLUSTER", "NODES"}, denied}, need{"+cluster|slots", []string{"CLUSTER", "SLOTS"}, spare},
			need{"+asking", []string{"ASKING"}, spare})
	}
	if e.polling {
		return all
	}
	wake, publish, subscribe, unsubscribe := e.prefix+"wake:", "publish", "subscribe", "+unsubscribe"
	if clustered {
		wake, publish, subscribe, unsubscribe = n.beside+"wake:", "spublish", "ssubscribe", "+sunsubscribe"
	}
	return append(all,
		need{publish + " to " + wake + "*", []string{publish, wake, ""}, messages},
		need{publish + " to " + latch, []string{publish, latch, ""}, messages},
		need{subscribe + " to " + wake + "*", []string{subscribe, wake}, messages},
		need{subscribe + " to " + latch, []string{subscribe, latch}, messages},
		need{unsubscribe, []string{unsubscribe[1:]}, spare})
}

// sample is a name whose keys and channels stand for those of all.
const sample = "any"

// touching are what needs a key: what the scripts do, and WATCH.
var touching = [][]string{
	{"WATCH"}, {"EXISTS"}, {"GET"}, {"MGET"}, {"SET", ""}, {"DEL"}, {"PTTL"}, {"PEXPIRE", "1"}, {"PEXPIREAT", "1"}, {"PEXPIRETIME"},
	{"HGET", ""}, {"HSET", "", ""}, {"HDEL", ""}, {"HMGET", ""}, {"HEXISTS", ""}, {"HINCRBY", "", "1"},
	{"ZADD", "1", ""}, {"ZREM", ""}, {"ZCARD"}, {"ZRANGE", "0", "0"}, {"ZREVRANGE", "0", "0"}, {"ZRANGEBYSCORE", "0", "0"}, {"ZRANK", ""}, {"ZSCORE", ""},
}

// askRights finds out what the user lacks. Nothing of it is done.
func (e *Engine) askRights(ctx context.Context, c redis.Cmdable, v *visit, marker string) error {
	n, braces := e.names(driver.Key{Kind: driver.Lock, Name: sample}), e.names(driver.Key{Kind: driver.Lock, Name: "{" + sample + "}"})
	places := []string{marker, n.value, n.token, braces.value, braces.token}
	plain := e.plain(v.facts.cluster())
	var args []any
	add := func(command ...string) {
		args = append(args, len(command))
		for _, word := range command {
			args = append(args, word)
		}
	}
	for _, need := range plain {
		add(need.command...)
	}
	for _, command := range touching {
		for _, key := range places {
			add(slices.Insert(slices.Clone(command), 1, key)...)
		}
	}
	sha, err := c.ScriptLoad(ctx, mayLua).Result()
	if err != nil {
		return err
	}
	answers, err := c.EvalShaRO(ctx, sha, nil, args...).Int64Slice()
	if err != nil {
		return err
	}
	if v.rights.channels = []string{"+publish", "+subscribe", "&" + e.prefix + "wake:*", "&{" + e.prefix + "*"}; v.facts.cluster() {
		v.rights.channels = []string{"+spublish", "+ssubscribe", "&{" + e.prefix + "*", "&{*}" + e.prefix + "*"}
	}
	if v.rights.untold = len(answers) != len(plain)+len(touching)*len(places); v.rights.untold {
		return nil
	}
	for i, need := range plain {
		v.rights.add(answers[i], need.word, need.list(&v.rights))
	}
	v.rights.addKeyed(answers[len(plain):], places, e)
	return nil
}

// What changes something; what looks cannot do without, and what they mostly can.
var (
	writing = strings.Fields("+set +del +pexpire +pexpireat +hset +hdel +hincrby +zadd +zrem")
	seeing  = strings.Fields("+time +info +script|load +evalsha_ro +watch +exists +get +pttl +pexpiretime +hget +hmget +hexists +zcard +zrevrange +zrangebyscore +cluster|nodes")
	sparing = strings.Fields("+unwatch +cluster|slots +asking")
)

// looksOnly reports whether the user may do nothing but look, and all of that.
func (r *lacks) looksOnly() bool {
	isDenied := func(word string) bool { return slices.Contains(r.denied, word) }
	return len(r.hidden) == 0 && !slices.ContainsFunc(writing, func(word string) bool { return !isDenied(word) }) && !slices.ContainsFunc(seeing, isDenied)
}

// Answers of the script.
const allowed, forbidden, unknown = 0, 1, 2

func (r *lacks) add(answer int64, word string, to *[]string) {
	if answer == unknown {
		to = &r.hidden
	}
	if answer != allowed && !slices.Contains(*to, word) {
		*to = append(*to, word)
	}
}

// addKeyed notes which commands and keys are missing. A command that is refused with one key and not with another is not missing: the key is.
func (r *lacks) addKeyed(answers []int64, places []string, e *Engine) {
	refused := make([]int, len(places)) // how many commands are refused with each key, although they are with another one or with all
	missing, hidden := 0, 0
	for i, command := range touching {
		of := answers[i*len(places) : (i+1)*len(places)]
		switch {
		case of[0] == unknown:
			r.add(unknown, "+"+strings.ToLower(command[0]), nil)
			hidden++
		case !slices.Contains(of, allowed):
			missing++
		}
		for k := range of {
			if of[k] == forbidden {
				refused[k]++
			}
		}
	}
	if missing > 0 && missing+hidden == len(touching) { // not one of them is allowed with any key
		r.add(forbidden, "~"+e.prefix+"*", &r.denied)
		r.add(forbidden, "~{"+e.prefix+"*", &r.denied)
		return
	}
	for i, command := range touching {
		if of := answers[i*len(places) : (i+1)*len(places)]; of[0] == forbidden && !slices.Contains(of, allowed) {
			r.add(forbidden, "+"+strings.ToLower(command[0]), &r.denied)
		}
	}
	words := []string{"~{" + e.prefix + "*", "~" + e.prefix + "*", "~{" + e.prefix + "*", "~" + e.prefix + "*", "~{*}" + e.prefix + "*"}
	for k := range places {
		if refused[k] <= missing || slices.Contains(r.denied, words[k]) {
			continue
		}
		to := &r.names
		if k == 0 && e.guard {
			to = &r.denied // the guard cannot do without
		}
		r.add(forbidden, words[k], to)
	}
}

// lacking finds the command in the answers of servers of different versions.
var lacking = regexp.MustCompile(`(?:run the '([^' ]+)' command|unknown command '([^' ]+)')`)

// note takes in an answer that says that a right is missing, or a command, and returns all other errors.
func (r *lacks) note(err error) error {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	text := strings.TrimPrefix(reply.Error(), "ERR ")
	found := lacking.FindStringSubmatch(text)
	switch {
	case strings.HasPrefix(text, "unknown command") && found != nil:
		r.add(unknown, "+"+strings.ToLower(found[2]), nil)
	case strings.HasPrefix(text, "NOPERM ") && found != nil:
		r.add(forbidden, "+"+strings.ToLower(found[1]), &r.denied)
	case strings.HasPrefix(text, "NOPERM "), strings.HasPrefix(text, "The user executing the script can't "), strings.HasPrefix(text, "ACL failure in script"):
		// a key, of which askRights tells
	default:
		return err
	}
	return nil
}
