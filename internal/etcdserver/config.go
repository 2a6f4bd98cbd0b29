package etcdserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
)

// Config says how a server differs from the default. The zero value is ready for use: then the server writes what it
// confirms to disk.
type Config struct {
	// Volatile keeps the data in the memory of the machine, where there is a folder for that, so that syncing it takes
	// no time. The data survives the server but not the machine.
	Volatile bool
	// Election is how long members do without a leader before they elect another one; they may take up to twice as
	// long. The shortest lease is one and a half times Election, rounded up to whole seconds. Zero means one second,
	// which is etcd's default.
	Election time.Duration
	// Cert and Key are the files of a certificate. With them, clients must use TLS.
	Cert, Key string
	// ClientCA is the file of the authority that must have signed clients' certificates. It takes effect only with
	// Cert.
	ClientCA string
	// Args are additional arguments of the server, such as "--quota-backend-bytes=1000000". They come last, so they
	// override what this package sets.
	Args []string
	// Program is the program to run. Defaults to etcd, as found in PATH.
	Program string
	// Env is added to the environment of the server, as in "GOMAXPROCS=1".
	Env []string
}

// memoryFolder is a folder that Linux keeps in memory.
const memoryFolder = "/dev/shm"

// parentFolder is where the folders of servers are made; "" stands for the usual place.
func (c Config) parentFolder() string {
	if at, err := os.Stat(memoryFolder); c.Volatile && err == nil && at.IsDir() {
		return memoryFolder
	}
	return ""
}

// args returns the arguments of a server that forms a cluster with all.
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
		ms := c.Election.Milliseconds()
		args = append(args, "--election-timeout", fmt.Sprint(ms), "--heartbeat-interval", fmt.Sprint(ms/10))
	}
	if c.Cert != "" {
		args = append(args, "--cert-file", c.Cert, "--key-file", c.Key)
	}
	if c.ClientCA != "" {
		args = append(args, "--trusted-ca-file", c.ClientCA, "--client-cert-auth")
	}
	return append(args, c.Args...)
}
