package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// etcdWithUsers starts a server on which the user worker may lock, and root may do everything.
// Unused logins expire after the given number of seconds.
func etcdWithUsers(t *testing.T, seconds int) (s *etcdserver.Server, root *clientv3.Client) {
	t.Helper()
	config := fastElection
	config.Args = append(slices.Clone(config.Args), "--bcrypt-cost=4", "--auth-token-ttl="+strconv.Itoa(seconds))
	s = etcdserver.ForTest(t, config)
	connect := func(c clientv3.Config) *clientv3.Client {
		c.Endpoints, c.Logger = []string{s.Addr()}, zap.NewNop()
		client, err := clientv3.New(c)
		noErr(t, err)
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	c := connect(clientv3.Config{})
	for _, user := range []string{"root", "worker"} {
		_, err := c.UserAdd(t.Context(), user, "the first password")
		noErr(t, err)
		_, err = c.RoleAdd(t.Context(), user)
		noErr(t, err)
		_, err = c.UserGrantRole(t.Context(), user, user)
		noErr(t, err)
	}
	_, err := c.RoleGrantPermission(t.Context(), "worker", etcd.DefaultPrefix,
		clientv3.GetPrefixRangeEnd(etcd.DefaultPrefix), clientv3.PermissionType(clientv3.PermReadWrite))
	noErr(t, err)
	_, err = c.AuthEnable(t.Context())
	noErr(t, err)
	return s, connect(clientv3.Config{Username: "root", Password: "the first password"})
}

// asWorker opens a client of the library.
func asWorker(t *testing.T, s *etcdserver.Server) client {
	t.Helper()
	e, err := etcd.Open("etcd://worker:the%20first%20password@" + s.Addr())
	noErr(t, err)
	c := newClient(e, answer)
	t.Cleanup(func() {
		_ = c.Close() // errors about leases do not matter here
		_ = e.Close()
	})
	return c
}

// requestsOf returns how many requests of a method, or of all methods if it is "", a server has seen,
// according to its metrics.
func requestsOf(t *testing.T, s *etcdserver.Server, method string) (n float64) {
	t.Helper()
	text, err := s.Get("/metrics")
	noErr(t, err)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	noErr(t, err)
	for _, m := range families["grpc_server_started_total"].GetMetric() {
		if method == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
			return l.GetName() == "grpc_method" && l.GetValue() == method
		}) {
			n += m.GetCounter().GetValue()
		}
	}
	return n
}

// A client that may no longer log in, or no longer touch the keys, loses its locks at their
// deadline at the latest, learns why nothing is granted any more, and does not flood the server
// with requests.
func TestEtcdRightsAreTakenAway(t *testing.T) {
	t.Parallel()
	for how, take := range map[string]func(ctx context.Context, root *clientv3.Client) error{
		"password": func(ctx context.Context, root *clientv3.Client) error {
			_, err := root.UserChangePassword(ctx, "worker", "another one")
			return err
		},
		"role": func(ctx context.Context, root *clientv3.Client) error {
			_, err := root.UserRevokeRole(ctx, "worker", "worker")
			return err
		},
		"user": func(ctx context.Context, root *clientv3.Client) error {
			_, err := root.UserDelete(ctx, "worker")
			return err
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			const ttl = 6 * time.Second
			s, root := etcdWithUsers(t, 300)
			a, b := asWorker(t, s), asWorker(t, s)
			l := lock(t, a.Mutex("a", leasehold.TTL(ttl)))
			held := l.Context()
			waited := make(chan error, 1)
			go func() {
				_, err := b.Mutex("a", leasehold.TTL(ttl)).Lock(t.Context())
				waited <- err
			}()
			await(t, "one waits", func() bool {
				page, err := a.ops.Inspect(t.Context(), "a")
				return err == nil && len(page) == 1 && page[0].Waiting == 1
			})
			before, began := requestsOf(t, s, ""), time.Now()
			noErr(t, take(t.Context(), root))
			<-held.Done()
			if late := time.Since(l.Deadline()); late > soon || !errors.Is(context.Cause(held), leasehold.ErrLost) {
				t.Errorf("the context ended %v after the deadline: %v", late, context.Cause(held))
			}
			took := time.Since(began).Seconds()
			if n := requestsOf(t, s, "") - before; n/took > 30 {
				t.Errorf("%.0f requests in %.1f s", n, took)
			}
			_, err := a.Mutex("other", leasehold.TTL(ttl)).TryLock(t.Context())
			for who, err := range map[string]error{"who asks anew": err, "who waited": <-waited} {
				if !errors.Is(err, leasehold.ErrUnavailable) ||
					strings.Contains(fmt.Sprint(err), "the first password") ||
					!strings.Contains(fmt.Sprint(err), "user") && !strings.Contains(fmt.Sprint(err), "rights") {
					t.Errorf("%s: %v", who, err)
				}
			}
		})
	}
}

// A login that expires because it is unused costs nothing: holders keep their locks, and waiters
// are granted theirs.
func TestEtcdLoginsThatEnd(t *testing.T) {
	t.Parallel()
	s, _ := etcdWithUsers(t, 1)
	a, b := asWorker(t, s), asWorker(t, s)
	const ttl = 12 * time.Second // renewed every 4 s: the login has expired by then
	l := lock(t, a.Mutex("a", leasehold.TTL(ttl)))
	next := waiter(t, b, "a", leasehold.TTL(ttl))
	awaitRenewal(t, l, ttl, next)
	releaseOrLost(t, l)
	second := <-next
	if second == nil || second.Token() <= l.Token() {
		t.Fatalf("%+v follows token %d", second, l.Token())
	}
	releaseOrLost(t, second)
	if n := requestsOf(t, s, "Authenticate"); n < 3 || n > 20 {
		t.Errorf("%.0f logins, want one for each that has ended", n)
	}
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
