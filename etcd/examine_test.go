package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/cable"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// fastConfig is for servers that lose no time with a disk and with elections.
var fastConfig = etcdserver.Config{Volatile: true, Election: 500 * time.Millisecond}

// connect makes a client of addresses, which are those of servers or lead to them.
func connect(t *testing.T, config clientv3.Config, addresses ...string) *clientv3.Client {
	t.Helper()
	config.Endpoints, config.Logger = addresses, zap.NewNop()
	c, err := clientv3.New(config)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// examine returns the findings as "severity code server", in order, and the servers by their names. It examines again
// if members are silent, since the machine may be busy.
func examine(t *testing.T, c *clientv3.Client) (servers map[string]driver.Server, found []string) {
	t.Helper()
	e, err := etcd.New(c)
	must(t, err)
	defer func() { must(t, e.Close()) }()
	var x driver.Examination
	for range 3 {
		if x, err = e.Examine(t.Context()); err == nil && !slices.ContainsFunc(x.Servers, isSilent) {
			break
		}
	}
	must(t, err)
	for _, f := range x.Findings {
		if f.Text == "" || f.Fix == "" {
			t.Errorf("nothing is said of %+v", f)
		}
		found = append(found, strings.TrimSpace(fmt.Sprint(f.Severity, " ", f.Code, " ", f.Server)))
	}
	slices.Sort(found)
	servers = map[string]driver.Server{}
	for _, p := range x.Servers {
		servers[p.Name] = p
	}
	if len(servers) != len(x.Servers) {
		t.Errorf("servers have the same name: %+v", x.Servers)
	}
	return servers, found
}

func isSilent(p driver.Server) bool { return errors.Is(p.Err, driver.ErrSilent) }

// mustFind fails the test unless exactly these findings are found.
func mustFind(t *testing.T, c *clientv3.Client, want ...string) map[string]driver.Server {
	t.Helper()
	servers, found := examine(t, c)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(found, want) {
		t.Errorf("found\n  %s\nwant\n  %s", strings.Join(found, "\n  "), strings.Join(want, "\n  "))
	}
	return servers
}

// Nothing is found in a healthy cluster, and each member is a server, whichever address leads there.
func TestExamineOfAClusterThatIsWell(t *testing.T) {
	t.Parallel()
	c := etcdserver.ClusterForTest(t, 3, fastConfig)
	for _, given := range [][]string{
		c.Addrs(), c.Addrs()[1:2], {"http://" + c.Addrs()[2]}, {c.Addrs()[0], cable.ForTest(t, c.Addrs()[0]).Addr()},
	} {
		leader, err := c.Leader()
		must(t, err)
		servers := mustFind(t, connect(t, clientv3.Config{}, given...))
		for _, m := range c.Members {
			p := servers[m.Addr()]
			if want := map[bool]string{true: "leader", false: "follower"}[m == leader]; p.Role != want {
				t.Errorf("%s is a %q, want %s", m.Addr(), p.Role, want)
			}
			if p.Err != nil || !p.Votes || p.Version == "" || p.RoundTrip <= 0 || p.HasClock || p.Uptime >= 0 {
				t.Errorf("the server is %+v", p)
			}
		}
		if len(servers) != 3 {
			t.Errorf("the servers are %+v", servers)
		}
	}
}

func TestExamineWithMembersDown(t *testing.T) {
	t.Parallel()
	c := etcdserver.ClusterForTest(t, 3, fastConfig)
	client := connect(t, clientv3.Config{}, c.Addrs()...)
	leader, err := c.Leader()
	must(t, err)
	others := c.Others(leader)
	must(t, others[0].Pause())
	for name, p := range mustFind(t, client) { // the core reports silent members
		if frozen := name == others[0].Addr(); frozen != isSilent(p) || frozen == p.Votes {
			t.Errorf("with a frozen member: %+v", p)
		}
	}
	others[0].Kill()
	for name, p := range mustFind(t, connect(t, clientv3.Config{}, leader.Addr())) {
		if gone := name == others[0].Addr(); gone != (p.Err != nil) || isSilent(p) || gone == p.Votes {
			t.Errorf("with a member that is gone: %+v", p)
		}
	}
	leader.Kill()
	noLeader := func() bool {
		status, err := others[1].Status()
		return err == nil && status.Leader == 0
	}
	for began := time.Now(); !noLeader(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > etcdserver.Patience {
			t.Fatal("one of three members has a leader")
		}
	}
	for name, p := range mustFind(t, client, "critical no-leader") {
		if there := name == others[1].Addr(); there != (p.Err == nil) || !p.Votes || p.Role != "follower" {
			t.Errorf("without a leader: %+v", p)
		}
	}
}

// An examination that finds out nothing returns an error in time.
func TestExamineWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	must(t, s.Pause())
	e, err := etcd.New(connect(t, clientv3.Config{}, s.Addr()))
	must(t, err)
	defer func() { must(t, e.Close()) }()
	began := time.Now()
	x, err := e.Examine(t.Context())
	if !errors.Is(err, driver.ErrSilent) || !strings.Contains(err.Error(), s.Addr()) || !driver.HadNoEffect(err) {
		t.Errorf("%+v, %v, want ErrSilent", x, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.Examine(ctx); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("%v, after %v", err, time.Since(began))
	}
}

// One member whose database is full.
func TestExamineFindsAlarms(t *testing.T) {
	t.Parallel()
	c := fastConfig
	c.Args = []string{"--quota-backend-bytes", fmt.Sprint(16 << 20)}
	s := etcdserver.ForTest(t, c)
	client := connect(t, clientv3.Config{}, s.Addr())
	mustFind(t, client, "note too-few-members")
	var full error
	for i := 0; full == nil && i < 100; i++ {
		_, full = client.Put(t.Context(), fmt.Sprint("key ", i), strings.Repeat("x", 1<<20))
	}
	if full == nil {
		t.Fatal("the quota is not heeded")
	}
	mustFind(t, client, "note too-few-members", "critical no-space "+s.Addr())
	raise := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: memberID(t, s), Alarm: pb.AlarmType_CORRUPT}
	_, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), raise)
	must(t, err)
	mustFind(t, client, "note too-few-members", "critical no-space "+s.Addr(), "critical corrupt "+s.Addr())
}

func memberID(t *testing.T, s *etcdserver.Server) uint64 {
	t.Helper()
	status, err := s.Status()
	must(t, err)
	return status.ID
}

// Members that were added and have never run are servers, and count.
func TestExamineCountsMembers(t *testing.T) {
	t.Parallel()
	config := fastConfig
	// Otherwise members cannot be added in the first five seconds.
	config.Args = []string{"--strict-reconfig-check=false"}
	c := etcdserver.ClusterForTest(t, 3, config)
	client := connect(t, clientv3.Config{}, c.Addrs()[0])
	_, err := client.MemberAddAsLearner(t.Context(), []string{"http://127.0.0.1:1"})
	must(t, err)
	servers := mustFind(t, client)
	learners := 0
	for _, p := range servers {
		if p.Role == "learner" {
			learners++
			if p.Err == nil || p.Votes {
				t.Errorf("the learner is %+v", p)
			}
		}
	}
	if len(servers) != 4 || learners != 1 {
		t.Errorf("the servers are %+v", servers)
	}
	list, err := client.MemberList(t.Context())
	must(t, err)
	for _, m := range list.Members {
		if m.IsLearner {
			_, err = client.MemberRemove(t.Context(), m.ID)
			must(t, err)
		}
	}
	_, err = client.MemberAdd(t.Context(), []string{"http://127.0.0.1:2"})
	must(t, err)
	mustFind(t, client, "note even-number")
}

// Addresses of two clusters, and an address that nobody answers at, are found.
func TestExamineFindsWrongAddresses(t *testing.T) {
	t.Parallel()
	one, two := etcdserver.ForTest(t, fastConfig), etcdserver.ForTest(t, fastConfig)
	_, found := examine(t, connect(t, clientv3.Config{}, one.Addr(), two.Addr()))
	if !slices.Contains(found, "critical different-clusters") {
		t.Errorf("found %q", found)
	}
	frozen := cable.ForTest(t, one.Addr())
	frozen.Freeze()
	client := connect(t, clientv3.Config{}, frozen.Addr(), one.Addr())
	servers := mustFind(t, client, "note too-few-members", "warning address-silent")
	if p := servers[one.Addr()]; len(servers) != 1 || p.Err != nil {
		t.Errorf("the servers are %+v", servers)
	}
}

// Missing rights are found, judged by what the user may still do.
func TestExamineFindsRights(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	admin := connect(t, clientv3.Config{}, s.Addr())
	const password = "correct horse"
	const prefix = etcd.DefaultPrefix
	grant := func(role, from, to string, what authpb.Permission_Type) error {
		return grantPermission(t, admin, role, from, to, what)
	}
	for user, may := range map[string]func(role string) error{
		"root": nil,
		"all": func(role string) error {
			return grant(role, prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermReadWrite)
		},
		"some": func(role string) error {
			must(t, grant(role, prefix+"session/", prefix+"session0", clientv3.PermReadWrite))
			return grant(role, prefix+"lock/jobs", prefix+"lock/jobt", clientv3.PermReadWrite)
		},
		"dataless": func(role string) error {
			for _, part := range []string{"lock", "semaphore", "session"} {
				must(t, grant(role, prefix+part+"/", prefix+part+"0", clientv3.PermReadWrite))
			}
			return nil
		},
		"sessionless": func(role string) error {
			return grant(role, prefix+"lock/jobs", prefix+"lock/jobt", clientv3.PermReadWrite)
		},
		"reader": func(role string) error { return grant(role, "\x00", "\x00", clientv3.PermRead) },
		"other":  func(role string) error { return grant(role, "other", "", clientv3.PermReadWrite) },
	} {
		_, err := admin.UserAdd(t.Context(), user, password)
		must(t, err)
		_, err = admin.RoleAdd(t.Context(), user)
		must(t, err)
		if may != nil {
			must(t, may(user))
		}
		_, err = admin.UserGrantRole(t.Context(), user, user)
		must(t, err)
	}
	_, err := admin.AuthEnable(t.Context())
	must(t, err)
	revision := func() int64 { // servers from 3.6 on tell it only to users
		c := connect(t, clientv3.Config{Username: "all", Password: password}, s.Addr())
		r, err := c.Get(t.Context(), prefix)
		must(t, err)
		return r.Header.Revision
	}
	before := revision()
	for user, want := range map[string]string{
		"root": "", "all": "", "some": "note rights-names", "dataless": "note rights-data",
		"sessionless": "critical rights", "reader": "note rights-look", "other": "critical rights",
	} {
		all := []string{"note too-few-members"}
		as := connect(t, clientv3.Config{Username: user, Password: password}, s.Addr())
		if isStatusHidden(t, as) {
			all = append(all, "note status-hidden")
		}
		if want != "" {
			all = append(all, want)
		}
		mustFind(t, as, all...)
	}
	e, err := etcd.New(admin) // it has no user name
	must(t, err)
	defer func() { must(t, e.Close()) }()
	x, err := e.Examine(t.Context())
	if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "give user and password") {
		t.Errorf("without a user: %+v, %v", x, err)
	}
	if after := revision(); after != before {
		t.Errorf("the revision was %d, and is %d: something was written", before, after)
	}
}

// isStatusHidden reports whether a server hides its status from a user. From version 3.6 on only the role root may
// see it.
func isStatusHidden(t *testing.T, c *clientv3.Client) bool {
	t.Helper()
	_, err := pb.NewMaintenanceClient(c.ActiveConnection()).Status(t.Context(), &pb.StatusRequest{})
	return err != nil
}

func grantPermission(t *testing.T, c *clientv3.Client, role, from, to string, what authpb.Permission_Type) error {
	t.Helper()
	_, err := c.RoleGrantPermission(t.Context(), role, from, to, clientv3.PermissionType(what))
	return err
}
