package postgresserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// Bouncer is a PgBouncer in transaction mode: each transaction may get another session of the server. Many goroutines may use it.
type Bouncer struct {
	dir  string
	port int

	mu       sync.Mutex       // held while it is ended
	run      *process.Process // nil if it was not started
	reserved bool             // the port is ours
}

// bouncerPool is how many sessions of the server all clients of a PgBouncer share.
const bouncerPool = 8

// StartBouncer starts a PgBouncer in front of a server, and waits until it answers. Everybody may connect, and is the superuser. If there is no
// PgBouncer, the error is ErrNoBouncer.
func StartBouncer(of *Server) (*Bouncer, error) {
	program, err := findBouncer()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pgbouncer-")
	if err != nil {
		return nil, err
	}
	b := &Bouncer{dir: dir}
	if err := b.start(program, of); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bouncer) start(program string, of *Server) error {
	user, err := unprivileged(b.dir)
	if err != nil {
		return err
	}
	for range portRetries {
		if b.port, err = ports.Reserve(); err != nil {
			return err
		}
		b.reserved = true
		if err = b.launch(program, of, user); err == nil || !strings.Contains(b.Log(), "ddress already in use") {
			return err
		}
		ports.Release(b.port)
		b.reserved = false
	}
	return err
}

func (b *Bouncer) launch(program string, of *Server, user func() *syscall.SysProcAttr) error {
	ini := filepath.Join(b.dir, "pgbouncer.ini")
	lines := []string{
		"[databases]",
		fmt.Sprintf("* = host=%s port=%s user=postgres", of.dir, of.portText()),
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
	// It has no secrets in it, and another user reads it.
	if err := os.WriteFile(ini, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		return err
	}
	log, err := os.Create(b.logFile())
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(program, ini)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = b.dir, log, log, user()
	if b.run, err = process.Start(cmd); err != nil {
		return err
	}
	return b.awaitReady()
}

// awaitReady waits until it takes connections.
func (b *Bouncer) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		if b.run.Ended() {
			return fmt.Errorf("postgresserver: PgBouncer ended at once; its log ends with:\n%s", b.Log())
		}
		c, err := new(net.Dialer).DialContext(ctx, "tcp", b.Addr())
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("postgresserver: PgBouncer is not ready after %v: %w; its log ends with:\n%s", Patience, err, b.Log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Addr returns the address, such as "127.0.0.1:12345".
func (b *Bouncer) Addr() string { return ports.Address(b.port) }

// URL returns the address as a URL of the server's database.
func (b *Bouncer) URL() string {
	return "postgres://postgres@" + b.Addr() + "/postgres?sslmode=disable"
}

// Log returns the end of its log, up to 4 KiB.
func (b *Bouncer) Log() string { return tail(b.logFile()) }

func (b *Bouncer) logFile() string { return filepath.Join(b.dir, "log") }

// Close ends it and removes its folder. Closing it again does nothing.
func (b *Bouncer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run != nil {
		b.run.Kill()
	}
	if b.reserved {
		ports.Release(b.port)
		b.reserved = false // it may be somebody else's from now on
	}
	return os.RemoveAll(b.dir)
}
