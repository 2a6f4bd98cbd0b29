package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/authpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// permission is a right on all keys with a prefix.
type permission struct {
	right  string // read, write or readwrite
	prefix string
}

// documentedRights returns the rights of a role, as the engine's page has them: look, lock or operate.
func documentedRights(t *testing.T, role string) (all []permission) {
	t.Helper()
	page, err := os.ReadFile("../docs/engines/etcd.md")
	must(t, err)
	const grant = `(?m)^etcdctl role grant-permission %s --prefix=true (read|write|readwrite) (\S+)$`
	line := regexp.MustCompile(fmt.Sprintf(grant, role))
	for _, m := range line.FindAllStringSubmatch(string(page), -1) {
		all = append(all, permission{m[1], m[2]})
	}
	if len(all) == 0 {
		t.Fatalf("the page has no rights for %s", role)
	}
	return all
}

// withoutEachRight takes each right away in turn: from the missing right to the remaining ones.
func withoutEachRight(all []permission) map[string][]permission {
	less := map[string][]permission{}
	for i, p := range all {
		rest := slices.Delete(slices.Clone(all), i, i+1)
		if p.right != "readwrite" {
			less[p.right+" "+p.prefix] = rest
			continue
		}
		less["write "+p.prefix] = append(slices.Clone(rest), permission{"read", p.prefix})
		less["read "+p.prefix] = append(slices.Clone(rest), permission{"write", p.prefix})
	}
	return less
}

// serverWithUsers is a server with users.
type serverWithUsers struct {
	server *etcdserver.Server
	admin  *clientv3.Client
	engine *etcd.Engine // of a user who may do everything
}

const userPassword = "secret"

// newServerWithUsers starts a server with these users, each with these rights.
func newServerWithUsers(t *testing.T, users map[string][]permission) *serverWithUsers {
	t.Helper()
	config := fastConfig
	config.Args = append(slices.Clone(config.Args), "--bcrypt-cost=4")
	s := etcdserver.ForTest(t, config)
	c := connect(t, clientv3.Config{}, s.Addr())
	users["root"] = nil
	kinds := map[string]authpb.Permission_Type{
		"read":      clientv3.PermRead,
		"write":     clientv3.PermWrite,
		"readwrite": clientv3.PermReadWrite,
	}
	for user, rights := range users {
		_, err := c.UserAdd(t.Context(), user, userPassword)
		must(t, err)
		_, err = c.RoleAdd(t.Context(), user)
		must(t, err)
		for _, p := range rights {
			must(t, grantPermission(t, c, user, p.prefix, clientv3.GetPrefixRangeEnd(p.prefix), kinds[p.right]))
		}
		_, err = c.UserGrantRole(t.Context(), user, user)
		must(t, err)
	}
	_, err := c.AuthEnable(t.Context())
	must(t, err)
	g := &serverWithUsers{
		server: s,
		admin:  connect(t, clientv3.Config{Username: "root", Password: userPassword}, s.Addr()),
	}
	g.engine = g.engineAs(t, "root")
	return g
}

// engineAs opens an engine for a user.
func (s *serverWithUsers) engineAs(t *testing.T, user string) *etcd.Engine {
	t.Helper()
	e, err := etcd.Open("etcd://" + user + ":" + userPassword + "@" + s.server.Addr())
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

// permitRequest asks for one of two permits.
func permitRequest(name string) driver.Request {
	r := newRequest(name)
	r.Kind, r.Size = driver.Semaphore, 2
	return r
}

// doReading does everything that only reads.
func (s *serverWithUsers) doReading(ctx context.Context, t *testing.T, e *etcd.Engine, _ string) error {
	for _, q := range []driver.Query{
		{}, {Kind: driver.Lock, Name: "seen", Queue: true}, {Kind: driver.Semaphore, Name: "seen", Queue: true},
	} {
		page, err := e.List(ctx, q)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			t.Errorf("%+v: nothing is seen", q)
		}
	}
	if _, err := e.Data(ctx, "seen"); err != nil {
		return err
	}
	_, err := e.Examine(ctx)
	return err
}

// doLocking does everything that programs do with locks.
func (s *serverWithUsers) doLocking(ctx context.Context, t *testing.T, e *etcd.Engine, name string) error {
	for _, r := range []driver.Request{newRequest(name), permitRequest(name)} {
		if _, err := e.Take(ctx, r); err != nil {
			return err
		}
		if err := renewOnce(ctx, e, r); err != nil {
			return err
		}
		if r.Kind == driver.Lock {
			d := driver.Data{Value: []byte("x"), Token: 1, Number: 1}
			if err := e.SetData(ctx, driver.DataSet{Hold: holdOf(r), Data: d}); err != nil {
				return err
			}
		}
		next := newRequest(name)
		next.Kind, next.Size, next.Join = r.Kind, r.Size, true
		if r.Kind == driver.Semaphore {
			next.Weight = 2
		}
		if _, err := e.Take(ctx, next); !errors.Is(err, driver.ErrHeld) {
			return fmt.Errorf("Take of what is held: %w", err)
		}
		waited := make(chan error, 1)
		go func() {
			_, err := e.Wait(ctx, next)
			waited <- err
		}()
		if err := e.Release(ctx, driver.Release{Hold: holdOf(r)}); err != nil {
			return err
		}
		if err := <-waited; err != nil {
			return err
		}
		if r.Kind == driver.Lock {
			if err := e.Downgrade(ctx, holdOf(next)); err != nil && !driver.IsNo(err) {
				return err // a "no" is fine: the lease is short at first, after a wait
			}
		}
		if err := e.Release(ctx, driver.Release{Hold: holdOf(next)}); err != nil && !driver.IsNo(err) {
			return err
		}
	}
	both := []driver.Request{newRequest(name + "1"), newRequest(name + "2")}
	if _, err := e.TakeAll(ctx, both); err != nil {
		return err
	}
	for _, r := range both {
		if err := e.Release(ctx, driver.Release{Hold: holdOf(r)}); err != nil {
			return err
		}
	}
	return nil
}

// doOperating releases locks of others by force.
func (s *serverWithUsers) doOperating(ctx context.Context, t *testing.T, e *etcd.Engine, name string) error {
	for _, r := range []driver.Request{newRequest(name), permitRequest(name)} {
		token := mustTake(t, s.engine, r).Token
		if page, err := e.List(ctx, driver.Query{Kind: r.Kind, Name: name}); err != nil || len(page) != 1 {
			return fmt.Errorf("seen is %v: %w", page, err)
		}
		if err := e.ForceRelease(ctx, r.Key, token); err != nil {
			return err
		}
	}
	return nil
}

// The rights on the page are enough for their role, and each of them is needed: without it there is an error that names
// it.
func TestEachRightOfARole(t *testing.T) {
	t.Parallel()
	roles := map[string]func(*serverWithUsers, context.Context, *testing.T, *etcd.Engine, string) error{
		"look":    (*serverWithUsers).doReading,
		"lock":    (*serverWithUsers).doLocking,
		"operate": (*serverWithUsers).doOperating,
	}
	users, missing := map[string][]permission{}, map[string]string{}
	for role := range roles {
		all := documentedRights(t, role)
		users[role] = all
		i := 0
		for right, rest := range withoutEachRight(all) {
			i++
			user := fmt.Sprintf("%s-%d", role, i)
			users[user], missing[user] = rest, right
		}
	}
	s := newServerWithUsers(t, users)
	for _, r := range []driver.Request{newRequest("seen"), permitRequest("seen")} {
		r.TTL = 10 * time.Minute // the test takes a small part of it
		mustTake(t, s.engine, r)
	}
	for user := range users {
		role, _, _ := strings.Cut(user, "-")
		do := roles[role]
		if do == nil { // root
			continue
		}
		t.Run(role+" without "+missing[user], func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
			defer cancel()
			err := do(s, ctx, t, s.engineAs(t, user), "of-"+user)
			if missing[user] == "" {
				must(t, err)
				return
			}
			lacks, named := errors.AsType[*etcd.RightsError](err)
			isMissing := func(right string) bool { return strings.HasPrefix(right, missing[user]) }
			if !named || !driver.IsPermanent(err) || !slices.ContainsFunc(lacks.Missing, isMissing) {
				t.Fatalf("the error is %v, want one that says that %q is missing", err, missing[user])
			}
			text, fix := err.Error(), "etcdctl role grant-permission ROLE --prefix=true "+missing[user]
			if !strings.Contains(text, fix) || !strings.Contains(text, "docs/engines/etcd.md") {
				t.Errorf("the error is %q, want one that says how to give the right, and where to read more", text)
			}
		})
	}
}

// snapshot returns all keys, and when they were written.
func (s *serverWithUsers) snapshot(t *testing.T) string {
	t.Helper()
	r, err := s.admin.Get(t.Context(), "\x00", clientv3.WithFromKey())
	must(t, err)
	var text strings.Builder
	for _, kv := range r.Kvs {
		_, _ = fmt.Fprintf(&text, "%q %d %d %d\n", kv.Key, kv.CreateRevision, kv.ModRevision, kv.Lease)
	}
	return text.String()
}

// A user who may only list locks changes nothing, whatever it tries. An operator cannot take a lock, and no role can
// write other keys.
func TestRolesAllowNoMore(t *testing.T) {
	t.Parallel()
	users := map[string][]permission{}
	for _, role := range []string{"look", "lock", "operate"} {
		users[role] = documentedRights(t, role)
	}
	s := newServerWithUsers(t, users)
	_, err := s.admin.Put(t.Context(), "other", "1")
	must(t, err)
	held := newRequest("a")
	held.TTL = time.Hour
	token := mustTake(t, s.engine, held).Token
	got, err := s.admin.Get(t.Context(), etcd.DefaultPrefix, clientv3.WithPrefix())
	must(t, err)
	before := s.snapshot(t)

	e := s.engineAs(t, "look")
	down := e.Downgrade(t.Context(), holdOf(held))
	_, take := e.Take(t.Context(), newRequest("b"))
	_, permit := e.Take(t.Context(), permitRequest("b"))
	_, all := e.TakeAll(t.Context(), []driver.Request{newRequest("b"), newRequest("c")})
	longer := held
	longer.TTL = 2 * time.Hour
	_, again := e.Take(t.Context(), longer)
	_, free := s.engineAs(t, "operate").Take(t.Context(), newRequest("b"))
	for what, err := range map[string]error{
		"take": take, "take a permit": permit, "take all": all, "take as the holder": again,
		"release":   e.Release(t.Context(), driver.Release{Hold: holdOf(held)}),
		"downgrade": down, "force": e.ForceRelease(t.Context(), held.Key, token), "take as an operator": free,
	} {
		lacks, named := errors.AsType[*etcd.RightsError](err)
		if !named || !driver.IsPermanent(err) || !strings.HasPrefix(lacks.Missing[0], "write leasehold/") {
			t.Errorf("%s: %v, want a permanent error that says which right is missing", what, err)
		}
	}
	for _, role := range []string{"look", "lock", "operate"} {
		c := connect(t, clientv3.Config{Username: role, Password: userPassword}, s.server.Addr())
		tries := map[string]func(context.Context) error{
			"read another key":  func(ctx context.Context) error { _, err := c.Get(ctx, "other"); return err },
			"write another key": func(ctx context.Context) error { _, err := c.Put(ctx, "other", "2"); return err },
			"write beside locks": func(ctx context.Context) error {
				_, err := c.Put(ctx, etcd.DefaultPrefix+"x", "2")
				return err
			},
			"make a user":    func(ctx context.Context) error { _, err := c.UserAdd(ctx, "x", "x"); return err },
			"turn users off": func(ctx context.Context) error { _, err := c.AuthDisable(ctx); return err },
		}
		if role == "look" {
			tries["read a session"] = func(ctx context.Context) error {
				_, err := c.Get(ctx, etcd.DefaultPrefix+"session/1")
				return err
			}
			for _, kv := range got.Kvs {
				key := string(kv.Key)
				tries["write "+key] = func(ctx context.Context) error { _, err := c.Put(ctx, key, "mine"); return err }
				tries["delete "+key] = func(ctx context.Context) error { _, err := c.Delete(ctx, key); return err }
				tries["revoke the lease of "+key] = func(ctx context.Context) error {
					_, err := c.Revoke(ctx, clientv3.LeaseID(kv.Lease))
					return err
				}
			}
		}
		for what, try := range tries {
			if err := try(t.Context()); err == nil {
				t.Errorf("%s may %s", role, what)
			}
		}
	}
	if after := s.snapshot(t); after != before {
		t.Errorf("what was\n%sis now\n%s", before, after)
	}
}
