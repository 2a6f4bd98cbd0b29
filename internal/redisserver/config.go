package redisserver

import (
	"fmt"
	"strconv"
	"strings"
)

// Config says how a server differs from the default. The zero value is ready for use.
type Config struct {
	// Lines are lines of redis.conf, such as "appendonly yes". They come last, and so override what
	// this package sets.
	Lines []string
	// Password is the password of the default user, which replicas also use. Default: none.
	Password string
	// Env are variables of the server's environment ("NAME=value"), added to those of this process.
	Env []string
	// Program is the program to run. Default: redis-server, as found in PATH.
	Program string
}

// common configures every server: reachable from this machine only, as fast as possible, and
// without storage.
const common = `bind 127.0.0.1
protected-mode no
daemonize no
logfile ""
loglevel notice
enable-debug-command yes
save ""
appendonly no
repl-diskless-sync yes
repl-diskless-sync-delay 0
repl-ping-replica-period 1
`

// text returns the redis.conf.
func (c Config) text(port int, more ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "port %d\n%s", port, common)
	if c.Password != "" {
		fmt.Fprintf(&b, "requirepass %[1]s\nmasterauth %[1]s\n", strconv.Quote(c.Password))
	}
	for _, line := range append(more, c.Lines...) {
		b.WriteString(line + "\n")
	}
	return b.String()
}
