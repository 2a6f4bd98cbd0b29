package postgresserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// Bouncer is a PgBouncer in transaction mode: each transaction may get another session of the server. It is safe for
// concurrent use.
type Bouncer struct {
	// Server has its process, folder and log. Close ends the process and removes the folder.
	*process.Server

	port int
}

// bouncerPool is how many sessions of the server all clients of a PgBouncer share.
const bouncerPool = 8

// StartBouncer starts a PgBouncer in front of a server, and waits until it answers. Everybody may connect, and is the
// superuser. If PgBouncer is not installed, the error is ErrNoBouncer.
func StartBouncer(of *Server) (b *Bouncer, err error) {
	program, err := findBouncer()
	if err != nil {
		return nil, err
	}
	err = ports.Retry(func() error {
		b, err = startBouncerOnce(program, of)
		return err
	})
	return b, err
}

func startBouncerOnce(program string, of *Server) (*Bouncer, error) {
	port, err := ports.Reserve()
	if err != nil {
		return nil, err
	}
	p, err := process.NewServer("postgresserver: PgBouncer", "", "pgbouncer-", func() { ports.Release(port) })
	if err != nil {
		return nil, err
	}
	b := &Bouncer{p, port}
	if err := b.launch(program, of); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// launch starts the process and waits until it accepts connections.
func (b *Bouncer) launch(program string, of *Server) error {
	user, err := unprivileged(b.Dir())
	if err != nil {
		return err
	}
	ini := filepath.Join(b.Dir(), "pgbouncer.ini")
	lines := []string{
		"[databases]",
		fmt.Sprintf("* = host=%s port=%s user=postgres", of.first.Dir(), of.portText()),
		"[pgbouncer]",
		"listen_addr = 127.0.0.1",
		fmt.Sprintf("listen_port = %d", b.port),
		"unix_socket_dir =",
		"auth_type = any",
		"pool_mode = transaction",
		fmt.Sprintf("default_pool_size = %d", bouncerPool),
		"max_client_conn = 400",
		"server_login_retry = 1",
		"ignore_startup_parameters = extra_float_digits",
		"",
	}
	// The file contains no secrets, and another user reads it.
	if err := os.WriteFile(ini, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		return err
	}
	cmd := exec.Command(program, ini)
	cmd.SysProcAttr = user()
	run, err := b.Launch(cmd)
	if err != nil {
		return err
	}
	return b.Await(run, Patience, "it takes connections", func() error {
		c, err := net.DialTimeout("tcp", b.Addr(), Patience)
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// Addr returns the address, such as "127.0.0.1:12345".
func (b *Bouncer) Addr() string { return ports.Address(b.port) }

// URL returns the address as a URL of the server's database.
func (b *Bouncer) URL() string {
	return "postgres://postgres@" + b.Addr() + "/postgres?sslmode=disable"
}
