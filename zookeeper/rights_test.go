package zookeeper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// documentedRights reads from the documentation who may do what: on the nodes that stay, and on those that programs
// create.
func documentedRights(t *testing.T) (staying map[string][]zk.ACL, made []zk.ACL) {
	t.Helper()
	page, err := os.ReadFile("../docs/engines/zookeeper.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## The smallest rights\n")
	text, _, _ = strings.Cut(text, "\n## ")
	text = regexp.MustCompile(`digest:(\w+):HASH:`).ReplaceAllStringFunc(text, func(found string) string {
		return "digest:" + digestOf(strings.Split(found, ":")[1]) + ":"
	})
	list := func(text string) []zk.ACL {
		t.Helper()
		all, ok := parseACL(text)
		if !ok {
			t.Fatalf("not understood: %s", text)
		}
		return all
	}
	staying = map[string][]zk.ACL{}
	creations := regexp.MustCompile(`(?m)^create (\S+) "" auth::cdrwa(?:,(\S+))?$`)
	for _, found := range creations.FindAllStringSubmatch(text, -1) {
		staying[found[1]] = nil
		if found[2] != "" {
			staying[found[1]] = list(found[2])
		}
	}
	inURL := regexp.MustCompile(`(?m)^zookeeper://\S+\?acl=(\S+)$`).FindStringSubmatch(text)
	if inURL == nil || len(staying) != 4 || !slices.Equal(staying["/leasehold/lock"], staying["/leasehold/semaphore"]) {
		t.Fatalf("the documentation has %v, %q", staying, inURL)
	}
	return staying, list(inURL[1])
}

// digestOf returns the id of a user in an ACL.
func digestOf(user string) string { return zk.DigestACL(0, user, passwordOf(user))[0].ID }

func passwordOf(user string) string { return user + "'s password" }

// without calls each with a list for every single right in list, which lacks that right.
func without(list []zk.ACL, where string, each func(what string, less []zk.ACL)) {
	for i, one := range list {
		for letter, right := range permLetters {
			if one.Perms&right != 0 {
				less := slices.Clone(list)
				less[i].Perms &^= right
				user, _, _ := strings.Cut(one.ID, ":")
				each(fmt.Sprintf("%s for %s on %s", string(letter), user, where), less)
			}
		}
	}
}

// rightsTest has a prefix of its own, and three users.
type rightsTest struct {
	*testing.T
	prefix              string
	admin               *zk.Conn
	look, lock, operate *Engine
}

// newRightsTest creates the nodes that stay.
func newRightsTest(t *testing.T, staying map[string][]zk.ACL, made []zk.ACL) *rightsTest {
	t.Helper()
	r := &rightsTest{T: t, prefix: "/rights-" + rand.Text(), admin: session(t, "admin")}
	for _, node := range []string{"", "/lock", "/semaphore", "/data"} {
		acl := append(zk.AuthACL(zk.PermAll), staying["/leasehold"+node]...)
		if _, err := r.admin.Create(r.prefix+node, nil, 0, acl); err != nil {
			t.Fatal(err)
		}
	}
	open := func(user string, others []zk.ACL) *Engine {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		e, err := New(
			ctx,
			[]string{server(t).Addr()},
			WithPrefix(r.prefix),
			WithAuth(user, passwordOf(user)),
			WithSessionTimeout(longSession),
			WithTimeout(time.Minute),
			func(c *config) error {
				c.extraACL = others
				return nil
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() }) // it returns nil
		return e
	}
	r.look, r.lock, r.operate = open("shop_look", nil), open("shop", made), open("shop_operate", made)
	return r
}

// session opens a session of a user, without an engine.
func session(t *testing.T, user string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(
		[]string{server(t).Addr()},
		longSession,
		zk.WithLogInfo(false),
		zk.WithLogger(discardLogger{}),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if err := conn.AddAuth("digest", []byte(user+":"+passwordOf(user))); err != nil {
		t.Fatal(err)
	}
	return conn
}

// longLock returns a request for a lock that outlives the test, however slow the machine is.
func longLock(t testing.TB, name string) driver.Request {
	r := lock(t, name)
	r.TTL = 5 * time.Minute
	return r
}

// checkLocks has one user take what is free, and what another user has created and releases.
func (r *rightsTest) checkLocks(e, other *Engine) error {
	free := longLock(r, "free")
	if _, err := e.Take(r.Context(), free); err != nil {
		return err
	}
	if err := e.Release(r.Context(), driver.Release{Hold: hold(free)}); err != nil {
		return err
	}
	name := "made by " + other.config.user
	first, second := longLock(r, name), longLock(r, name)
	if _, err := other.Take(r.Context(), first); err != nil {
		return err
	}
	second.Join = true
	if _, err := e.Take(r.Context(), second); !errors.Is(err, driver.ErrHeld) {
		return fmt.Errorf("a name that another one holds: %w", err)
	}
	if err := other.Release(r.Context(), driver.Release{Hold: hold(first)}); err != nil {
		return err
	}
	if _, err := e.Wait(r.Context(), second); err != nil {
		return err
	}
	if err := renewOne(r, e, second); err != nil {
		return err
	}
	d := driver.Data{Value: []byte("x"), Token: 1, Number: 1}
	if err := e.SetData(r.Context(), driver.DataSet{Hold: hold(second), Data: d}); err != nil {
		return err
	}
	return e.Release(r.Context(), driver.Release{Hold: hold(second)})
}

// checkOperates releases a lock by force, and sweeps.
func (r *rightsTest) checkOperates() error {
	victim := longLock(r, "victim")
	g, err := r.lock.Take(r.Context(), victim)
	if err != nil {
		return err
	}
	if _, err := r.operate.List(r.Context(), driver.Query{}); err != nil {
		return err
	}
	if err := r.operate.ForceRelease(r.Context(), victim.Key, g.Token); err != nil {
		return err
	}
	if err := renewOne(r, r.lock, victim); !errors.Is(err, driver.ErrNotHeld) {
		return fmt.Errorf("renewal of what was taken away: %w", err)
	}
	if err := r.operate.Leaks(r.Context(), driver.Query{}, func(driver.Leak) bool { return true }); err != nil {
		return err
	}
	err = r.operate.Sweep(r.Context(), driver.Leak{Key: victim.Key, Sort: driver.Remains, Mark: "0.0"})
	if !errors.Is(err, driver.ErrNotHeld) {
		return fmt.Errorf("sweeping what is not there: %w", err)
	}
	return nil
}

// checkReads lists what others hold.
func (r *rightsTest) checkReads(holders ...*Engine) error {
	for i, e := range holders {
		held := longLock(r, fmt.Sprint("held ", i))
		if _, err := e.Take(r.Context(), held); err != nil {
			return err
		}
		page, err := r.look.List(r.Context(), driver.Query{Name: held.Name, Queue: true})
		if err != nil {
			return err
		}
		if len(page) != 1 || len(page[0].Holders) != 1 {
			return fmt.Errorf("the listing is %+v", page)
		}
		d, err := r.look.Data(r.Context(), longLock(r, "made by "+e.config.user).Name)
		if err != nil {
			return err
		}
		if string(d.Value) != "x" {
			return fmt.Errorf("the data is %q", d.Value)
		}
	}
	if _, err := r.look.List(r.Context(), driver.Query{}); err != nil {
		return err
	}
	return r.look.Leaks(r.Context(), driver.Query{}, func(driver.Leak) bool { return true })
}

// checkAll does the work of all users.
func (r *rightsTest) checkAll() error {
	for _, work := range []func() error{
		func() error { return r.checkLocks(r.lock, r.operate) },
		func() error { return r.checkLocks(r.operate, r.lock) },
		r.checkOperates,
		func() error { return r.checkReads(r.lock, r.operate) },
	} {
		if err := work(); err != nil {
			return err
		}
	}
	return nil
}

// Each of the documented rights is needed: without it something fails, and says which right is missing.
func TestDocumentedRightsAreNeeded(t *testing.T) {
	t.Parallel()
	staying, made := documentedRights(t)
	fails := func(what string, staying map[string][]zk.ACL, made []zk.ACL) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			err := newRightsTest(t, staying, made).checkAll()
			lacks, typed := errors.AsType[*RightsError](err)
			switch {
			case err == nil:
				t.Error("all works without it: it is not needed")
			case !typed || lacks.Right[:1] != what[:1] || !strings.HasPrefix(lacks.Node, "/rights-"):
				t.Errorf("it does not say what is missing: %v", err)
			}
		})
	}
	for node, list := range staying {
		if node == "/leasehold/semaphore" {
			continue // like the other one
		}
		without(list, node, func(what string, less []zk.ACL) {
			lists := maps.Clone(staying)
			lists[node] = less
			fails(what, lists, made)
		})
	}
	without(made, "what programs make", func(what string, less []zk.ACL) { fails(what, staying, less) })
}

// With the documented rights, each user can do its work, and no more.
func TestDocumentedRightsAreEnough(t *testing.T) {
	t.Parallel()
	staying, made := documentedRights(t)
	r := newRightsTest(t, staying, made)
	if err := r.checkAll(); err != nil {
		t.Fatal(err)
	}
	permits := longLock(r, "permits")
	permits.Kind, permits.Size = driver.Semaphore, 2
	mustTake(t, r.lock, permits)
	if page, err := r.look.List(t.Context(), driver.Query{Kind: driver.Semaphore}); err != nil || len(page) != 1 {
		t.Errorf("semaphores are listed as %+v, %v", page, err)
	}

	held := longLock(r, "held")
	g := mustTake(t, r.lock, held)
	waits := longLock(r, "held")
	waits.Join = true
	refused := map[string]error{
		"Release":      r.look.Release(t.Context(), driver.Release{Hold: hold(held)}),
		"ForceRelease": r.look.ForceRelease(t.Context(), held.Key, g.Token),
		"Sweep":        r.look.Sweep(t.Context(), driver.Leak{Key: held.Key, Sort: driver.Remains, Mark: "0.0"}),
	}
	_, refused["Take"] = r.look.Take(t.Context(), longLock(r, "another"))
	_, refused["Take of what is held"] = r.look.Take(t.Context(), waits)
	_, refused["List by who locks"] = r.lock.List(t.Context(), driver.Query{})
	for what, err := range refused {
		lacks, typed := errors.AsType[*RightsError](err)
		if !typed || !driver.IsPermanent(err) || !strings.Contains(err.Error(), lacks.Node) ||
			!strings.Contains(err.Error(), "setAcl") {
			t.Errorf("%s: %v", what, err)
		}
	}
	node := r.lock.nameNode(held.Key)
	entries := nodes(t, r.lock, held.Key)
	if len(entries) != 1 {
		t.Fatalf("the entries are %v", entries)
	}
	for user, paths := range map[string][]string{
		"shop_look":    {r.prefix, path.Dir(node), node, node + "/" + entries[0].name},
		"shop":         {r.prefix, path.Dir(node)},
		"shop_operate": {r.prefix},
	} {
		conn := session(t, user)
		for _, at := range paths {
			_, setError := conn.Set(at, []byte("x"), -1)
			all := []error{setError}
			if user == "shop_look" || at == r.prefix {
				_, err := conn.Create(at+"/x", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
				if !errors.Is(err, zk.ErrNoChildrenForEphemerals) {
					all = append(all, err)
				}
				if at != r.prefix {
					all = append(all, conn.Delete(at, -1))
				}
			}
			_, aclError := conn.SetACL(at, zk.WorldACL(zk.PermAll), -1)
			for i, err := range append(all, aclError) {
				if !errors.Is(err, zk.ErrNoAuth) {
					t.Errorf("%s, change %d of %s: %v", user, i, at, err)
				}
			}
		}
	}
	if err := renewOne(t, r.lock, held); err != nil {
		t.Errorf("the holder has lost the lock: %v", err)
	}
	for name, c := range map[string]struct {
		e    *Engine
		want string
	}{"look": {r.look, "note rights-look"}, "lock": {r.lock, "note rights-spare"}, "operate": {r.operate, ""}} {
		var found []string
		for _, f := range c.e.judgeRights(t.Context()) {
			found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
		}
		if slices.Sort(found); strings.Join(slices.Compact(found), ", ") != c.want {
			t.Errorf("of who may %s it finds %q, want %q", name, found, c.want)
		}
	}
}

// Where the programs create all nodes, a user that only reads needs nothing but the ACL in their URL.
func TestReadOnlyUserNeedsOnlyTheURLOfPrograms(t *testing.T) {
	t.Parallel()
	prefix := "/rights-" + rand.Text()
	look := openAt(t, server(t), WithPrefix(prefix), WithAuth("shop_look", passwordOf("shop_look")))
	looks := func(want int) {
		t.Helper()
		page, err := look.List(t.Context(), driver.Query{})
		if err != nil || len(page) != want {
			t.Errorf("the listing is %+v, %v", page, err)
		}
		if err := look.Leaks(t.Context(), driver.Query{}, func(driver.Leak) bool { return true }); err != nil {
			t.Error(err)
		}
	}
	looks(0)
	if stat, err := look.client.exists(t.Context(), prefix); err != nil || stat != nil {
		t.Errorf("looking has made the node %s: %v", prefix, err)
	}
	e := openAt(t, server(t), WithPrefix(prefix),
		WithAuth("shop", passwordOf("shop")), WithACL("digest:"+digestOf("shop_look")+":r"))
	mustTake(t, e, lock(t, "a"))
	looks(1)
	var lacks *RightsError
	_, err := look.Take(t.Context(), lock(t, "a"))
	if !errors.As(err, &lacks) || lacks.Right != "create" || lacks.Node != prefix+"/lock" {
		t.Errorf("Take: %v", err)
	}
}

// A user that only reads is told of leaks that have been of no use for long, by any clock.
func TestLeaksByTheClockOfAReadOnlyUser(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t), WithPrefix("/rights-"+rand.Text()))
	if err := e.createParents(t.Context(), e.nameNode(lock(t, "a").Key)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.client.conn.SetACL(e.kindNode(driver.Lock), zk.WorldACL(zk.PermRead), -1); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	now, err := e.serverTimeReadOnly(t.Context(), driver.Lock)
	if off := time.UnixMilli(now).
		Sub(began); err != nil || off > -maxClockDifference+time.Since(began) ||
		off < -maxClockDifference-time.Second {
		t.Errorf("it is %v ahead, %v", off, err)
	}
	err = e.Leaks(t.Context(), driver.Query{}, func(l driver.Leak) bool {
		t.Errorf("what was used just now is %+v", l)
		return true
	})
	if err != nil {
		t.Error(err)
	}
}

func TestACLs(t *testing.T) {
	t.Parallel()
	id := digestOf("a")
	for text, want := range map[string][]zk.ACL{
		"digest:" + id + ":r": {{Perms: zk.PermRead, Scheme: "digest", ID: id}},
		"digest:" + strings.ReplaceAll(id, "+", " ") + ":cdrwa": {{Perms: zk.PermAll, Scheme: "digest", ID: id}},
		"world:anyone:r,x509:CN=a,O=b:cd": {
			{Perms: zk.PermRead, Scheme: "world", ID: "anyone"},
			{Perms: zk.PermCreate | zk.PermDelete, Scheme: "x509", ID: "CN=a,O=b"},
		},
		"digest:a:geheim:r":              nil,
		"digest:a:r":                     nil,
		"":                               nil,
		"geheim":                         nil,
		"world:anyone:x":                 nil,
		"world:anyone:r,":                nil,
		"world::r":                       nil,
		"world:anyone:":                  nil,
		"world:anyone:r,,world:anyone:r": nil,
	} {
		got, ok := parseACL(text)
		if ok != (want != nil) || ok && !slices.Equal(got, want) {
			t.Errorf("%s is %v, %v", text, got, ok)
		}
		c, err := parseURL("zookeeper://a:b@h?acl="+text, noEnvironment)
		if want == nil && (err == nil || strings.Contains(err.Error(), "geheim")) ||
			want != nil && !slices.Equal(c.extraACL, want) {
			t.Errorf("%s in a URL is %v, %v", text, c.extraACL, err)
		}
	}
}
