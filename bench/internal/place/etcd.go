package place

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leasehold-go/leasehold/internal/process"
)

var errEtcdMissing = errors.New("etcd is not installed (on Debian: apt-get install etcd-server)")

const (
	// startLimit is how long a server may take to answer.
	startLimit = 30 * time.Second
	// startTries is how often another process may be faster to take a port.
	startTries = 3
)

// Etcd is one etcd server, a cluster of its own.
type Etcd struct {
	addr    string
	version string
	folder  string
	process *process.Process
	client  *clientv3.Client
	http    http.Client
}

// OpenEtcd starts a server with a folder and ports of its own.
func OpenEtcd(ctx context.Context) (_ *Etcd, err error) {
	program, err := exec.LookPath("etcd")
	if err != nil {
		return nil, errEtcdMissing
	}
	for range startTries {
		var e *Etcd
		if e, err = startEtcd(ctx, program); err == nil {
			return e, nil
		}
	}
	return nil, err
}

func startEtcd(ctx context.Context, program string) (_ *Etcd, err error) {
	e := &Etcd{http: http.Client{Timeout: 5 * time.Second}}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	if e.folder, err = os.MkdirTemp("", "etcd-"); err != nil {
		return nil, err
	}
	ports, err := freeAddrs(2)
	if err != nil {
		return nil, err
	}
	e.addr = ports[0]
	own, peer := "http://"+ports[0], "http://"+ports[1]
	log, err := os.Create(filepath.Join(e.folder, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(program, "--name", "bench", "--data-dir", filepath.Join(e.folder, "data"), "--log-level", "error",
		"--listen-client-urls", own, "--advertise-client-urls", own,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "bench="+peer)
	cmd.Stdout, cmd.Stderr = log, log
	if e.process, err = process.Start(cmd); err != nil {
		return nil, err
	}
	if err = e.await(ctx); err != nil {
		tail, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%w; its log ends with: %s", err, tail[max(0, len(tail)-2048):])
	}
	e.client, err = clientv3.New(clientv3.Config{Endpoints: []string{e.addr}, Logger: zap.NewNop(), Context: context.WithoutCancel(ctx)})
	return e, err
}

// freeAddrs returns addresses of this machine that nobody listens on.
func freeAddrs(n int) (all []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // only at the end, so that they differ
		all = append(all, l.Addr().String())
	}
	return all, nil
}

// await waits until the server says that it is healthy.
func (e *Etcd) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		text, err := e.get(ctx, "/health")
		if err == nil && bytes.Contains(text, []byte("true")) {
			break
		}
		select {
		case <-e.process.Done():
			return errors.New("the etcd that was started ended at once")
		case <-ctx.Done():
			return fmt.Errorf("the etcd that was started is not healthy after %v: %w", startLimit, errors.Join(err, ctx.Err()))
		case <-time.After(50 * time.Millisecond):
		}
	}
	text, err := e.get(ctx, "/version")
	if err != nil {
		return err
	}
	var version struct{ Etcdserver string }
	if err := json.Unmarshal(text, &version); err != nil {
		return fmt.Errorf("etcd says of its version %s: %w", text, err)
	}
	e.version = version.Etcdserver
	return nil
}

func (e *Etcd) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.addr+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := e.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// Addrs returns the one address.
func (e *Etcd) Addrs() []string { return []string{e.addr} }

// About says which server it is.
func (e *Etcd) About() About {
	return About{OneEtcd, "etcd " + e.version, "started for the benchmark: one member, loopback, default durability: " +
		"each change is synced to the disk of " + os.TempDir() + " before it is answered"}
}

// Load reads the metrics of the server.
func (e *Etcd) Load(ctx context.Context) (Load, error) {
	text, err := e.get(ctx, "/metrics")
	if err != nil {
		return Load{}, err
	}
	return etcdLoad(string(text))
}

// etcdLoad adds up metrics in the text format of Prometheus: all messages of clients, be they calls or parts of a stream.
func etcdLoad(text string) (l Load, err error) {
	seen := false
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		received := strings.HasPrefix(name, "grpc_server_msg_received_total{")
		if !received && name != "process_cpu_seconds_total" {
			continue
		}
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return Load{}, fmt.Errorf("etcd says %s: %w", line, err)
		}
		if received {
			l.Commands += int64(f)
		} else {
			seen, l.CPU = true, time.Duration(f*float64(time.Second))
		}
	}
	if !seen {
		return Load{}, errors.New("the metrics of etcd do not tell its processor time")
	}
	return l, nil
}

// Sweep deletes what begins with mark, as all keys here do.
func (e *Etcd) Sweep(ctx context.Context, mark string) error {
	_, err := e.client.Delete(ctx, mark, clientv3.WithPrefix())
	return err
}

// Close ends the server and removes its folder.
func (e *Etcd) Close() error {
	var err error
	if e.client != nil {
		err = e.client.Close()
	}
	if e.process != nil {
		e.process.Kill()
	}
	e.http.CloseIdleConnections()
	return errors.Join(err, os.RemoveAll(e.folder))
}
