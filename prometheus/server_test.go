package leaseholdprometheus_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/process"
)

// deploy is the folder of the files that are shipped for Prometheus and Grafana.
var deploy = filepath.Join("..", "deploy")

// patience is how long a test waits for something that must happen.
const patience = 60 * time.Second

// need returns the path of a program of Prometheus. If it is missing, the test is skipped, or fails where servers are
// required.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case needed.Servers():
		t.Fatalf("%v: install Prometheus, with make prometheus where that is Debian", err)
	default:
		t.Skipf("%v", err)
	}
	return path
}

// server is a Prometheus of this test.
type server struct {
	url    string
	client *http.Client
	out    *output
}

// startServer starts a Prometheus with this configuration and these flags on a free port of this machine. It ends with
// the test.
func startServer(t *testing.T, config string, flags ...string) *server {
	t.Helper()
	program := need(t, "prometheus")
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yaml")
	noErr(t, os.WriteFile(file, []byte(config), 0o600))
	s := &server{client: &http.Client{Transport: &http.Transport{}, Timeout: patience}, out: new(output)}
	for range 5 { // another program may take the port first
		address := freeAddress(t)
		s.url = "http://" + address
		cmd := exec.Command(program,
			append(flags, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
				"--web.listen-address="+address)...)
		cmd.Stdout, cmd.Stderr = s.out, s.out
		p, err := process.Start(cmd)
		noErr(t, err)
		if s.ready(p) {
			t.Cleanup(func() {
				p.Kill()
				s.client.CloseIdleConnections()
				if t.Failed() {
					t.Logf("Prometheus has said:\n%s", s.out)
				}
			})
			return s
		}
		p.Kill()
	}
	t.Fatalf("Prometheus does not start:\n%s", s.out)
	return nil
}

// ready waits until the server answers. It reports false if the server has ended or takes too long.
func (s *server) ready(p *process.Process) bool {
	for end := time.Now().Add(patience); time.Now().Before(end) && !p.Ended(); time.Sleep(20 * time.Millisecond) {
		resp, err := s.client.Get(s.url + "/-/ready")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK && !p.Ended() {
			return true
		}
	}
	return false
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noErr(t, err)
	defer l.Close()
	return l.Addr().String()
}

// ask sends a request to the API.
func (s *server) ask(t *testing.T, path string, query url.Values, data any) {
	t.Helper()
	resp, err := s.client.Get(s.url + path + "?" + query.Encode())
	noErr(t, err)
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	noErr(t, json.NewDecoder(resp.Body).Decode(&answer))
	if answer.Status != "success" {
		t.Fatalf("%s %v: %s", path, query, answer.Error)
	}
	noErr(t, json.Unmarshal(answer.Data, data))
}

// query returns the number of series of an expression.
func (s *server) query(t *testing.T, expr string) int {
	t.Helper()
	var data struct{ Result []any }
	s.ask(t, "/api/v1/query", url.Values{"query": {expr}}, &data)
	return len(data.Result)
}

// alert is an alert that is pending or firing.
type alert struct {
	State  string
	Labels map[string]string
}

// String describes the alert, as in "LockWaitLong of order is firing".
func (a alert) String() string {
	return fmt.Sprintf("%s of %s is %s", a.Labels["alertname"], a.Labels["resource"], a.State)
}

func (s *server) alerts(t *testing.T) []alert {
	t.Helper()
	var data struct{ Alerts []alert }
	s.ask(t, "/api/v1/alerts", nil, &data)
	return data.Alerts
}

// output is the output of a program.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String returns all of it.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(o.b.String())
}
