package redisserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MasterName is the name under which sentinels watch the master.
const MasterName = "main"

// How soon sentinels act.
const (
	// DownAfter is how long a server must be silent to count as down.
	DownAfter = time.Second
	// FailoverTimeout is how long a failover may take before it is tried again after twice that time.
	FailoverTimeout = 3 * time.Second
)

// fastSentinelSettings makes sentinels check and talk more often than every 10 s and 2 s, and
// recover soon after they were paused. The settings hold until a restart.
var fastSentinelSettings = []string{
	"SENTINEL", "DEBUG", "INFO-PERIOD", "500", "PUBLISH-PERIOD", "200", "PING-PERIOD", "200",
	"ASK-PERIOD", "200", "TILT-PERIOD", "1000", "ELECTION-TIMEOUT", "2000",
}

// Sentinels watch a master and its replicas, and promote a replica when the master is down.
type Sentinels struct {
	// All are the sentinels. They need no password.
	All []*Server

	watched *Replicated
}

// StartSentinels starts n sentinels, a majority of which decides, and waits until they all know
// each other and all servers. They watch the server that was started as the master. Close them
// before the servers that they watch.
func StartSentinels(n int, r *Replicated) (*Sentinels, error) {
	if n < 1 {
		return nil, fmt.Errorf("redisserver: %d sentinels: ask for at least 1", n)
	}
	watch := fmt.Sprintf(`bind 127.0.0.1
protected-mode no
daemonize no
logfile ""
sentinel monitor %[1]s 127.0.0.1 %[2]d %[3]d
sentinel down-after-milliseconds %[1]s %[4]d
sentinel failover-timeout %[1]s %[5]d
sentinel parallel-syncs %[1]s 1
`, MasterName, r.Master.port, n/2+1, DownAfter.Milliseconds(), FailoverTimeout.Milliseconds())
	if password := r.Master.password; password != "" {
		watch += fmt.Sprintf("sentinel auth-pass %s %q\n", MasterName, password)
	}
	all, err := startAll(n, func(int) (*Server, error) {
		return startWith(Config{Program: r.Master.program}, []string{"--sentinel"},
			func(port int) string { return fmt.Sprintf("port %d\n%s", port, watch) })
	})
	if err != nil {
		return nil, err
	}
	s := &Sentinels{All: all, watched: r}
	if err := runAll(n, func(i int) error { return all[i].commands(fastSentinelSettings) }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := await("the sentinels know each other and all servers", s.incomplete); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// incomplete returns what a sentinel does not know.
func (s *Sentinels) incomplete() error {
	for _, one := range s.All {
		reply, err := one.Command("SENTINEL", "MASTER", MasterName)
		if err != nil {
			return err
		}
		m := fields(reply)
		replicas, others := fmt.Sprint(len(s.watched.Replicas)), fmt.Sprint(len(s.All)-1)
		if m["num-slaves"] != replicas || m["num-other-sentinels"] != others || m["flags"] != "master" {
			return fmt.Errorf("%s knows %s replicas, %s other sentinels, and the master as %s", one.Addr(),
				m["num-slaves"], m["num-other-sentinels"], m["flags"])
		}
		if reply, err = one.Command("SENTINEL", "REPLICAS", MasterName); err != nil {
			return err
		}
		list, _ := reply.([]any)
		for _, replica := range list {
			if m := fields(replica); m["flags"] != "slave" || m["master-link-status"] != "ok" {
				return fmt.Errorf("for %s the replica %s is %s, and its link %s", one.Addr(), m["name"], m["flags"],
					m["master-link-status"])
			}
		}
		if _, err := one.Command("SENTINEL", "CKQUORUM", MasterName); err != nil {
			return err
		}
	}
	return nil
}

// fields makes a map of a reply that lists names and values alternately.
func fields(reply any) map[string]string {
	list, _ := reply.([]any)
	m := make(map[string]string)
	for pair := range slices.Chunk(list, 2) {
		if len(pair) == 2 {
			m[fmt.Sprint(pair[0])] = fmt.Sprint(pair[1])
		}
	}
	return m
}

// AwaitMaster waits until all running sentinels name the same master, which must consider itself
// the master and differ from other, and returns it. It waits no longer than Patience. Pass nil to
// accept any master.
func (s *Sentinels) AwaitMaster(other *Server) (master *Server, err error) {
	err = await("the sentinels have a master", func() (err error) {
		master, err = s.masterOtherThan(other)
		return err
	})
	return master, err
}

func (s *Sentinels) masterOtherThan(other *Server) (*Server, error) {
	master, err := s.agreedMaster()
	if err != nil {
		return nil, err
	}
	if master == other {
		return nil, fmt.Errorf("it is still %s", master.Addr())
	}
	role, err := master.Info("role")
	if err == nil && role != "master" {
		err = fmt.Errorf("the role of %s is still %q", master.Addr(), role)
	}
	return master, err
}

func (s *Sentinels) agreedMaster() (master *Server, err error) {
	named := ""
	for _, one := range s.All {
		if !one.Up() {
			continue
		}
		reply, err := one.Command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName)
		if err != nil {
			return nil, err
		}
		hostPort, _ := reply.([]any)
		addr := strings.ReplaceAll(strings.Trim(fmt.Sprint(hostPort), "[]"), " ", ":")
		if named != "" && addr != named {
			return nil, fmt.Errorf("for %s it is %s, for another %s", one.Addr(), addr, named)
		}
		named = addr
	}
	all := s.watched.Servers()
	i := slices.IndexFunc(all, func(c *Server) bool { return c.Addr() == named })
	if i < 0 {
		return nil, fmt.Errorf("the master is the unknown server %q", named)
	}
	return all[i], nil
}

// Addrs returns the addresses of the sentinels.
func (s *Sentinels) Addrs() []string { return addrs(s.All) }

// Close kills the sentinels and removes their folders. The servers that they watch go on.
func (s *Sentinels) Close() error { return closeAll(s.All) }
