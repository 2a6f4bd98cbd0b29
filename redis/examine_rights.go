package redis

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/health"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// missingRights are the rights that the user lacks, as words of ACL SETUSER.
type missingRights struct {
	denied    []string // without these no lock can be taken
	hidden    []string // commands that the server does not know
	listing   []string
	messages  []string // in plain words: it is not always clear whether the command or the channel is missing
	channels  []string // the rights that messages need
	optional  []string
	someNames []string // keys of some names only
	unknown   bool     // the server cannot tell
}

// need is one right that the user must have.
type need struct {
	word    string // of ACL SETUSER
	command []string
	list    func(*missingRights) *[]string // where to note it if it is missing
}

func denied(missing *missingRights) *[]string   { return &missing.denied }
func listing(missing *missingRights) *[]string  { return &missing.listing }
func messages(missing *missingRights) *[]string { return &missing.messages }
func optional(missing *missingRights) *[]string { return &missing.optional }

// keylessNeeds returns the rights to commands that use no key.
func (e *Engine) keylessNeeds(clustered bool) []need {
	n := e.names(driver.Key{Kind: driver.Lock, Name: sampleName})
	latch := n.partPrefix() + partLatch
	all := []need{
		{"+time", []string{"TIME"}, denied},
		{"+info", []string{"INFO"}, denied},
		{"+script|load", []string{"SCRIPT", "LOAD", ""}, denied},
		{"+evalsha", []string{"EVALSHA", "", "0"}, denied},
		{"+evalsha_ro", []string{"EVALSHA_RO", "", "0"}, denied},
		{"+scan", []string{"SCAN", "0"}, listing},
		{"+ping", []string{"PING"}, optional},
		{"+unwatch", []string{"UNWATCH"}, optional},
	}
	if e.replicas > 0 {
		all = append(all, need{"+wait", []string{"WAIT", "0", "0"}, denied})
	}
	if clustered {
		all = append(all,
			need{"+cluster|nodes", []string{"CLUSTER", "NODES"}, denied},
			need{"+cluster|slots", []string{"CLUSTER", "SLOTS"}, optional},
			need{"+asking", []string{"ASKING"}, optional})
	}
	if e.polling {
		return all
	}
	wake, publish, subscribe, unsubscribe := e.prefix+"wake:", "publish", "subscribe", "+unsubscribe"
	if clustered {
		wake, publish, subscribe, unsubscribe = n.partPrefix()+"wake:", "spublish", "ssubscribe", "+sunsubscribe"
	}
	return append(all,
		need{publish + " to " + wake + "*", []string{publish, wake, ""}, messages},
		need{publish + " to " + latch, []string{publish, latch, ""}, messages},
		need{subscribe + " to " + wake + "*", []string{subscribe, wake}, messages},
		need{subscribe + " to " + latch, []string{subscribe, latch}, messages},
		need{unsubscribe, []string{unsubscribe[1:]}, optional})
}

// sampleName is a name whose keys and channels stand for those of all names.
const sampleName = "any"

// keyCommands are the commands that use a key: those of the scripts, and WATCH.
var keyCommands = [][]string{
	{"WATCH"}, {"EXISTS"}, {"GET"}, {"MGET"}, {"SET", ""}, {"DEL"},
	{"PTTL"}, {"PEXPIRE", "1"}, {"PEXPIREAT", "1"}, {"PEXPIRETIME"},
	{"HGET", ""}, {"HSET", "", ""}, {"HDEL", ""}, {"HMGET", ""}, {"HEXISTS", ""}, {"HINCRBY", "", "1"},
	{"ZADD", "1", ""}, {"ZREM", ""}, {"ZCARD"}, {"ZRANGE", "0", "0"}, {"ZREVRANGE", "0", "0"},
	{"ZRANGEBYSCORE", "0", "0"}, {"ZRANK", ""}, {"ZSCORE", ""},
}

// askRights finds out which rights the user lacks. It runs none of the commands.
func (e *Engine) askRights(ctx context.Context, c redis.Cmdable, r *serverReport, marker string) error {
	n := e.names(driver.Key{Kind: driver.Lock, Name: sampleName})
	braces := e.names(driver.Key{Kind: driver.Lock, Name: "{" + sampleName + "}"})
	places := []string{marker, n.value, n.token, braces.value, braces.token}
	plain := e.keylessNeeds(r.info.isCluster())
	var commands [][]string
	for _, need := range plain {
		commands = append(commands, need.command)
	}
	for _, command := range keyCommands {
		for _, key := range places {
			commands = append(commands, slices.Insert(slices.Clone(command), 1, key))
		}
	}
	answers, err := health.AskRights(ctx, c, commands)
	if err != nil {
		return err
	}
	r.rights.channels = []string{"+publish", "+subscribe", "&" + e.prefix + "wake:*", "&{" + e.prefix + "*"}
	if r.info.isCluster() {
		r.rights.channels = []string{"+spublish", "+ssubscribe", "&{" + e.prefix + "*", "&{*}" + e.prefix + "*"}
	}
	if r.rights.unknown = len(answers) != len(plain)+len(keyCommands)*len(places); r.rights.unknown {
		return nil
	}
	for i, need := range plain {
		r.rights.add(answers[i], need.word, need.list(&r.rights))
	}
	r.rights.addKeyed(answers[len(plain):], places, e)
	return nil
}

// Rights to change something, rights without which nothing can be read, and rights that reading can mostly do without.
var (
	writeRights = strings.Fields("+set +del +pexpire +pexpireat +hset +hdel +hincrby +zadd +zrem")
	readRights  = strings.Fields("+time +info +script|load +evalsha_ro +watch +exists +get +pttl +pexpiretime " +
		"+hget +hmget +hexists +zcard +zrevrange +zrangebyscore +cluster|nodes")
	optionalRights = strings.Fields("+unwatch +cluster|slots +asking")
)

// isReadOnlyUser reports whether the user may read everything and change nothing.
func (missing *missingRights) isReadOnlyUser() bool {
	isDenied := func(word string) bool { return slices.Contains(missing.denied, word) }
	isAllowed := func(word string) bool { return !isDenied(word) }
	return len(missing.hidden) == 0 &&
		!slices.ContainsFunc(writeRights, isAllowed) && !slices.ContainsFunc(readRights, isDenied)
}

func (missing *missingRights) add(answer int64, word string, to *[]string) {
	if answer == health.RightUnknown {
		to = &missing.hidden
	}
	if answer != health.RightAllowed && !slices.Contains(*to, word) {
		*to = append(*to, word)
	}
}

// addKeyed notes which commands and keys are missing. If a command is refused with one key and allowed with another,
// the key is missing and not the command.
func (r *missingRights) addKeyed(answers []int64, places []string, e *Engine) {
	// For each key, how many commands are refused.
	refused := make([]int, len(places))
	missing, hidden := 0, 0
	for i, command := range keyCommands {
		of := answers[i*len(places) : (i+1)*len(places)]
		switch {
		case of[0] == health.RightUnknown:
			r.add(health.RightUnknown, "+"+strings.ToLower(command[0]), nil)
			hidden++
		case !slices.Contains(of, health.RightAllowed):
			missing++
		}
		for k := range of {
			if of[k] == health.RightForbidden {
				refused[k]++
			}
		}
	}
	if missing > 0 && missing+hidden == len(keyCommands) { // none of the commands is allowed with any key
		r.add(health.RightForbidden, "~"+e.prefix+"*", &r.denied)
		r.add(health.RightForbidden, "~{"+e.prefix+"*", &r.denied)
		return
	}
	for i, command := range keyCommands {
		of := answers[i*len(places) : (i+1)*len(places)]
		if of[0] == health.RightForbidden && !slices.Contains(of, health.RightAllowed) {
			r.add(health.RightForbidden, "+"+strings.ToLower(command[0]), &r.denied)
		}
	}
	words := []string{
		"~{" + e.prefix + "*",
		"~" + e.prefix + "*", "~{" + e.prefix + "*",
		"~" + e.prefix + "*", "~{*}" + e.prefix + "*",
	}
	for k := range places {
		if refused[k] <= missing || slices.Contains(r.denied, words[k]) {
			continue
		}
		to := &r.someNames
		if k == 0 && e.guard {
			to = &r.denied // the guard needs it
		}
		r.add(health.RightForbidden, words[k], to)
	}
}

// noteDenied takes in a reply that says that a right or a command is missing. It returns all other errors.
func (missing *missingRights) noteDenied(err error) error {
	answer, replied := errors.AsType[redis.Error](err)
	if !replied {
		return err
	}
	text := strings.TrimPrefix(answer.Error(), "ERR ")
	found := reply.DeniedCommand.FindStringSubmatch(text)
	switch {
	case strings.HasPrefix(text, "unknown command") && found != nil:
		missing.add(health.RightUnknown, "+"+strings.ToLower(found[2]), nil)
	case strings.HasPrefix(text, "NOPERM ") && found != nil:
		missing.add(health.RightForbidden, "+"+strings.ToLower(found[1]), &missing.denied)
	case reply.IsDenial(text):
		// a key, which askRights reports
	default:
		return err
	}
	return nil
}
