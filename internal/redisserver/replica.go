package redisserver

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Replicated is a master and its replicas.
type Replicated struct {
	Master   *Server
	Replicas []*Server
}

// StartReplicated starts a master with replicas, and waits until they are in sync.
func StartReplicated(replicas int, c Config) (*Replicated, error) {
	master, err := Start(c)
	if err != nil {
		return nil, err
	}
	r := &Replicated{Master: master}
	r.Replicas, err = startAll(replicas, func(int) (*Server, error) { return StartReplica(master, c) })
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// StartReplica starts a replica of a server, and waits until it is in sync. It uses the password of
// its master.
func StartReplica(of *Server, c Config) (*Server, error) {
	host, port, err := net.SplitHostPort(of.Addr())
	if err != nil {
		return nil, err
	}
	c.Password = of.password
	s, err := start(c, "replicaof "+host+" "+port)
	if err != nil {
		return nil, err
	}
	if err := s.AwaitReplicaOf(of); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// AwaitReplicaOf waits until the server is a replica of a master according to both, and has what
// the master had when this was called. It waits no longer than Patience.
func (s *Server) AwaitReplicaOf(master *Server) error {
	goal := int64(-1)
	return await(fmt.Sprintf("%s follows %s", s.Addr(), master.Addr()), func() error {
		above, err := master.text("INFO", "replication")
		if err != nil {
			return err
		}
		if goal < 0 {
			if goal, err = strconv.ParseInt(infoField(above, "master_repl_offset"), 10, 64); err != nil {
				return err
			}
		}
		info, err := s.text("INFO", "replication")
		if err != nil {
			return err
		}
		follows := net.JoinHostPort(infoField(info, "master_host"), infoField(info, "master_port"))
		if link := infoField(info, "master_link_status"); follows != master.Addr() || link != "up" {
			return fmt.Errorf("its role is %s, its master %s, the link is %q", infoField(info, "role"), follows, link)
		}
		if !strings.Contains(above, fmt.Sprintf("port=%d,state=online", s.port)) {
			return errors.New("the master does not count it as online")
		}
		has, err := strconv.ParseInt(infoField(info, "slave_repl_offset"), 10, 64)
		if err == nil && has < goal {
			err = fmt.Errorf("it is at %d of %d", has, goal)
		}
		return err
	})
}

// Servers returns all servers, beginning with the first master.
func (r *Replicated) Servers() []*Server { return append([]*Server{r.Master}, r.Replicas...) }

// Close kills all servers and removes their folders.
func (r *Replicated) Close() error { return closeAll(r.Servers()) }
