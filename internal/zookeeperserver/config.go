package zookeeperserver

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
)

// Config says how a server differs from the plainest one. The zero value is ready for use.
type Config struct {
	// Tick is the unit of time of the server: sessions expire at whole ticks, a follower hands on what it has heard of sessions each half
	// tick, and a leader and its followers do without each other for ten ticks. Defaults to 200 ms.
	Tick time.Duration
	// MaxSession is the longest timeout of a session that a client may have. Defaults to a minute. The shortest one is two ticks.
	MaxSession time.Duration
	// Unsynced lets the server answer before what it has said is on the disk.
	Unsynced bool
	// Lines are lines of zoo.cfg, such as "maxClientCnxns=3". They come last, so that they override what this package sets.
	Lines []string
}

const (
	defaultTick       = 200 * time.Millisecond
	defaultMaxSession = time.Minute
)

const (
	configFile = "zoo.cfg"
	logbackXML = "logback.xml"
	dataFolder = "data"
	idFile     = "myid"
)

// common is how every server runs: seen from this machine only, with small files, and answering all four-letter words.
const common = `clientPortAddress=127.0.0.1
admin.enableServer=false
4lw.commands.whitelist=*
maxClientCnxns=0
preAllocSize=64
initLimit=50
syncLimit=10
`

// text is the zoo.cfg of the server that listens on the given ports, among all members of its ensemble, itself included. One that is alone has no members.
func (c Config) text(dir string, own member, members []member) string {
	tick, longest, sync := c.Tick, c.MaxSession, "yes"
	if tick == 0 {
		tick = defaultTick
	}
	if longest == 0 {
		longest = defaultMaxSession
	}
	if c.Unsynced {
		sync = "no"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "dataDir=%s\nclientPort=%d\ntickTime=%d\nmaxSessionTimeout=%d\nforceSync=%s\n%s",
		filepath.Join(dir, dataFolder), own.client, tick.Milliseconds(), longest.Milliseconds(), sync, common)
	for i, m := range members {
		fmt.Fprintf(&b, "server.%d=127.0.0.1:%d:%d\n", i+1, m.peer, m.election)
	}
	for _, line := range c.Lines {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// member is a server of an ensemble, or one that is alone: its ports for clients, for followers, and for elections.
type member struct{ client, peer, election int }

// reserve gets the ports of a member.
func reserve() (m member, err error) {
	for _, port := range []*int{&m.client, &m.peer, &m.election} {
		if *port, err = ports.Reserve(); err != nil {
			m.release()
			return member{}, err
		}
	}
	return m, nil
}

func (m member) release() {
	for _, port := range []int{m.client, m.peer, m.election} {
		ports.Release(port)
	}
}
