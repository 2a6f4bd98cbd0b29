package etcdserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/process"
)

// Patience limits every wait for a server in this package: for its start, for a leader. It is long, since machines that
// run tests are slow at times.
const Patience = 30 * time.Second

const (
	// pingLimit is how long one ping waits for an answer.
	pingLimit = 500 * time.Millisecond
	// callLimit is how long Call waits for an answer.
	callLimit = 5 * time.Second
)

// await calls missing until it returns nil, at least once and for no longer than Patience.
func await(until string, missing func() error) error {
	return process.Await("etcdserver", Patience, until, missing)
}

// Status is what a server reports about itself.
type Status struct {
	// ID is the server's number in the cluster, and Leader the number of the leader that it knows; 0 if it knows none.
	ID, Leader uint64
	// Term is the number of the last election that it knows.
	Term uint64
	// Revision is the revision of its data.
	Revision int64
	// Version is the version of the server, such as "3.4.23".
	Version string
}

// Status asks the server for its status. It works without a leader, too.
func (s *Server) Status() (Status, error) { return s.status(callLimit) }

func (s *Server) status(limit time.Duration) (Status, error) {
	var reply struct {
		Header struct {
			ID       uint64 `json:"member_id,string"`
			Term     uint64 `json:"raft_term,string"`
			Revision int64  `json:"revision,string"`
		} `json:"header"`
		Leader  uint64 `json:"leader,string"`
		Version string `json:"version"`
	}
	err := s.call(limit, "/v3/maintenance/status", struct{}{}, &reply)
	return Status{reply.Header.ID, reply.Leader, reply.Header.Term, reply.Header.Revision, reply.Version}, err
}

// Call sends a request over HTTP to a path such as "/v3/kv/put", with JSON in both directions, as described in
// https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway/. An error means that there was no good answer; the request may
// have been done. Call takes at most five seconds.
func (s *Server) Call(path string, request, reply any) error {
	return s.call(callLimit, path, request, reply)
}

func (s *Server) call(limit time.Duration, path string, request, reply any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return s.ask(limit, func(c *http.Client) (*http.Response, error) {
		return c.Post(s.controlURL()+path, "application/json", bytes.NewReader(text))
	}, func(text []byte) error { return json.Unmarshal(text, reply) })
}

// Get reads a page of the server, such as "/metrics".
func (s *Server) Get(path string) (page []byte, err error) {
	err = s.ask(callLimit, func(c *http.Client) (*http.Response, error) {
		return c.Get(s.controlURL() + path)
	}, func(text []byte) error {
		page = text
		return nil
	})
	return page, err
}

func (s *Server) ask(
	limit time.Duration, send func(*http.Client) (*http.Response, error), take func([]byte) error,
) error {
	client := &http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := send(client)
	if err != nil {
		return fmt.Errorf("etcdserver: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	if err == nil {
		err = take(text)
	}
	if err != nil {
		return fmt.Errorf("etcdserver: the server at %s answers %q: %w", s.Addr(), text, err)
	}
	return nil
}

func (s *Server) controlURL() string { return "http://" + ports.Address(s.control) }
