package redissonwire

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// command is a line of MONITOR.
type command struct {
	at     time.Time
	source string // the address of the client, or "lua" within a script
	args   []string
}

// name returns the name of the command in lower case.
func (c command) name() string { return strings.ToLower(c.args[0]) }

// inScript reports whether a script has run the command.
func (c command) inScript() bool { return c.source == "lua" }

// parseCommand reads a line such as `1795212423.033000 [0 127.0.0.1:5000] "EXISTS" "x"`.
func parseCommand(line string) (command, error) {
	stamp, rest, ok := strings.Cut(line, " [")
	source, quoted, found := strings.Cut(rest, "] ")
	seconds, err := strconv.ParseFloat(stamp, 64)
	if !ok || !found || err != nil {
		return command{}, fmt.Errorf("redissonwire: no line of MONITOR: %q", line)
	}
	_, source, _ = strings.Cut(source, " ")
	c := command{at: time.UnixMicro(int64(seconds * 1e6)), source: source}
	for quoted = strings.TrimSpace(quoted); quoted != ""; quoted = strings.TrimLeft(quoted, " ") {
		var arg string
		if arg, quoted, err = unquote(quoted); err != nil {
			return command{}, fmt.Errorf("redissonwire: a line of MONITOR: %w: %q", err, line)
		}
		c.args = append(c.args, arg)
	}
	if len(c.args) == 0 {
		return command{}, fmt.Errorf("redissonwire: a line of MONITOR without a command: %q", line)
	}
	return c, nil
}

// Arguments returns the arguments of a line of MONITOR, and whether a client has sent the command, and not a script.
func Arguments(line string) (args []string, sent bool, err error) {
	c, err := parseCommand(line)
	return c.args, !c.inScript(), err
}

// escapes are the escapes of MONITOR, but for \xHH.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b', '"': '"', '\\': '\\'}

// unquote reads the first argument in quotes, and returns what is behind it.
func unquote(s string) (arg, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", fmt.Errorf("no quote where an argument begins")
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], nil
		case s[i] != '\\':
			b.WriteByte(s[i])
		case i+3 < len(s) && s[i+1] == 'x':
			n, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
			if err != nil {
				return "", "", err
			}
			b.WriteByte(byte(n))
			i += 3
		case i+1 < len(s) && escapes[s[i+1]] != 0:
			b.WriteByte(escapes[s[i+1]])
			i++
		default:
			return "", "", fmt.Errorf("an unknown escape")
		}
	}
	return "", "", fmt.Errorf("no quote where an argument ends")
}

// writing are the commands that change something or tell somebody.
var writing = set("append copy decr decrby del expire getdel getset hdel hincrby hset incr incrby linsert lpop lpush " +
	"lrem lset ltrim persist pexpire pexpireat psetex publish rpop rpush set setex setnx spublish unlink zadd " +
	"zincrby zrem zremrangebyscore zremrangebyrank")

// connecting are the commands by which clients connect and look after their connections.
var connecting = set("asking auth client cluster command config hello info ping pubsub quit readonly readwrite role " +
	"script select waitaof")

// ignored reports whether the command has nothing to do with locks. Clients ask by WAIT 0 whether there is such a
// command.
func (c command) ignored() bool {
	return connecting[c.name()] || c.name() == "wait" && len(c.args) > 1 && c.args[1] == "0"
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// block is a command of a client, with those that its script has run.
type block struct {
	command
	client string
	inner  []command
}

// isScript reports whether the command runs a script.
func (b block) isScript() bool { return strings.HasPrefix(b.name(), "eval") }

// keysAndArguments returns those of a script.
func (b block) keysAndArguments() (keys, args []string) {
	n := 0
	if len(b.args) > 2 {
		n, _ = strconv.Atoi(b.args[2]) // a server has accepted it
	}
	if len(b.args) < 3+n {
		return nil, nil
	}
	return b.args[3 : 3+n], b.args[3+n:]
}
