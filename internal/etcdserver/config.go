package etcdserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
)

// Config says how a server differs from the plainest one. The zero value is ready for use: what the server has confirmed is on its disk.
type Config struct {
	// Volatile keeps the data in the memory of the machine, where that is a folder, so that it costs no time to sync it. It survives the server, but
	// not the machine.
	Volatile bool
	// Election is how long members do without a leader before they elect another one; they may take up to twice as long. The shortest
	// lease is one and a half times of it, in whole seconds, rounded up. Zero means a second, as etcd has it.
	Election time.Duration
	// Cert and Key are the files of a certificate, which the server then has clients connect to by TLS.
	Cert, Key string
	// ClientCA is the file of the authority whose certificates clients must have. Only with Cert.
	ClientCA string
	// Args are more arguments of the server, such as "--quota-backend-bytes=1000000". They come last, so that they override what this package sets.
	Args []string
	// Program is what is run. Defaults to etcd, as found in PATH.
	Program string
}

// memory is a folder that is kept in memory, on Linux.
const memory = "/dev/shm"

// parent is where the folders of servers are, and "" for the usual place.
func (c Config) parent() string {
	if at, err := os.Stat(memory); c.Volatile && err == nil && at.IsDir() {
		return memory
	}
	return ""
}

// args are the arguments of a server, one of some that are a cluster.
func (c Config) args(s *Server, all []*Server) []string {
	var cluster []string
	for _, m := range all {
		cluster = append(cluster, m.name+"="+m.peerURL())
	}
	listen := []string{s.URL()}
	if c.Cert != "" {
		listen = append(listen, "http://"+ports.Address(s.control)) // for this package
	}
	args := []string{
		"--name", s.name, "--data-dir", s.data(), "--log-level", "warn", "--logger", "zap",
		"--listen-client-urls", strings.Join(listen, ","), "--advertise-client-urls", s.URL(),
		"--listen-peer-urls", s.peerURL(), "--initial-advertise-peer-urls", s.peerURL(),
		"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-token", filepath.Base(all[0].Dir()),
	}
	if c.Election > 0 {
		args = append(args, "--election-timeout", fmt.Sprint(c.Election.Milliseconds()), "--heartbeat-interval", fmt.Sprint(c.Election.Milliseconds()/10))
	}
	if c.Cert != "" {
		args = append(args, "--cert-file", c.Cert, "--key-file", c.Key)
	}
	if c.ClientCA != "" {
		args = append(args, "--trusted-ca-file", c.ClientCA, "--client-cert-auth")
	}
	return append(args, c.Args...)
}
