package zookeeperserver

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
)

// Config has the settings of a server. The zero value is ready for use.
type Config struct {
	// Tick is the unit of time of the server: sessions expire at whole ticks, a follower reports the sessions of its
	// clients each half tick, and a leader and its followers tolerate ten ticks without an answer. Defaults to 200 ms.
	Tick time.Duration
	// MaxSession is the longest session timeout that a client may have. Defaults to a minute. The shortest one is two
	// ticks.
	MaxSession time.Duration
	// Unsynced lets the server answer before its writes are on disk.
	Unsynced bool
	// Lines are lines of zoo.cfg, such as "maxClientCnxns=3". They come last, so that they override those of this
	// package.
	Lines []string
	// Env is added to the environment of the server, as in "LD_PRELOAD=/path".
	Env []string
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

// commonLines is how every server runs: reachable from this machine only, with small files, and answering all
// four-letter words.
const commonLines = `clientPortAddress=127.0.0.1
admin.enableServer=false
4lw.commands.whitelist=*
maxClientCnxns=0
preAllocSize=64
initLimit=50
syncLimit=10
`

// text returns the zoo.cfg of the server with the ports self, in an ensemble with the ports all. A standalone server
// has no ensemble.
func (c Config) text(dir string, self serverPorts, all []serverPorts) string {
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
		filepath.Join(dir, dataFolder), self.client, tick.Milliseconds(), longest.Milliseconds(), sync, commonLines)
	for i, m := range all {
		fmt.Fprintf(&b, "server.%d=127.0.0.1:%d:%d\n", i+1, m.peer, m.election)
	}
	for _, line := range c.Lines {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// serverPorts are the ports of a server for clients, for followers, and for elections.
type serverPorts struct{ client, peer, election int }

// reservePorts reserves the ports of a server.
func reservePorts() (m serverPorts, err error) {
	for _, port := range []*int{&m.client, &m.peer, &m.election} {
		if *port, err = ports.Reserve(); err != nil {
			m.release()
			return serverPorts{}, err
		}
	}
	return m, nil
}

func (m serverPorts) release() {
	for _, port := range []int{m.client, m.peer, m.election} {
		ports.Release(port)
	}
}
