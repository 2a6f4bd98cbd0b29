package torture

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// link is the network between some clients and one server. It is a proxy of toxiproxy, which breaks streams of bytes as networks do. (What has to know where a
// request begins and ends, such as losing the reply to one and no other, takes the proxy of internal/redisserver.)
//
// Each fault lasts until the function is called that is returned with it. A link has one fault at a time.
type link struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

// linkTo makes a link to an address, with an address of its own.
func linkTo(t *testing.T, address string) *link {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l := &link{t, toxiproxy.NewProxy(server, address, "127.0.0.1:0", address)}
	if err := l.proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.proxy.Toxics.ResetToxics(context.Background())
		l.proxy.Stop()
	})
	return l
}

func (l *link) addr() string { return l.proxy.Listen }

// network is a link to each of some servers.
type network []*link

func networkTo(t *testing.T, servers []*redisserver.Server) (n network) {
	t.Helper()
	for _, s := range servers {
		n = append(n, linkTo(t, s.Addr()))
	}
	return n
}

func (n network) addresses() (all []string) {
	for _, l := range n {
		all = append(all, l.addr())
	}
	return all
}

// harm breaks some of the links in one way.
func (n network) harm(f fault, which ...int) (mend func()) {
	var all []func()
	for _, i := range which {
		all = append(all, f.harm(n[i]))
	}
	return func() {
		for _, mend := range all {
			mend()
		}
	}
}

// fault is one of the things that happen to networks.
type fault struct {
	name string
	harm func(*link) (mend func())
}

var faults = []fault{
	{"no byte comes through", func(l *link) func() { return l.toxics(lost("upstream"), lost("downstream")) }},
	{"requests are lost", func(l *link) func() { return l.toxics(lost("upstream")) }},
	{"replies are lost", func(l *link) func() { return l.toxics(lost("downstream")) }},
	{"all stands still and arrives later", func(l *link) func() { return l.toxics(late("upstream", time.Hour), late("downstream", time.Hour)) }},
	{"requests arrive late", func(l *link) func() { return l.toxics(late("upstream", time.Second)) }},
	{"replies arrive late", func(l *link) func() { return l.toxics(late("downstream", time.Second)) }},
	{"connections break within replies", func(l *link) func() {
		return l.toxics(toxic{"limit_data", "downstream", `{"bytes": 2}`})
	}},
	{"connections are reset", func(l *link) func() { return l.toxics(toxic{"reset_peer", "upstream", `{"timeout": 0}`}) }},
	{"nobody can connect", (*link).down},
}

// named returns a fault.
func named(name string) fault {
	for _, f := range faults {
		if f.name == name {
			return f
		}
	}
	panic("no fault is called " + name)
}

// toxic is what toxiproxy calls a fault in one direction: upstream is that of requests.
type toxic struct{ kind, direction, attributes string }

// lost bytes never arrive. Their connection is closed in the end, as what came after them would be taken for them.
func lost(direction string) toxic { return toxic{"timeout", direction, `{"timeout": 0}`} }

func late(direction string, d time.Duration) toxic {
	return toxic{"latency", direction, fmt.Sprintf(`{"latency": %d}`, d.Milliseconds())}
}

func (l *link) toxics(all ...toxic) (mend func()) {
	l.t.Helper()
	for _, x := range all {
		text := fmt.Sprintf(`{"type": %q, "stream": %q, "attributes": %s}`, x.kind, x.direction, x.attributes)
		if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
			l.t.Errorf("%s: %v", text, err)
		}
	}
	return func() { l.proxy.Toxics.ResetToxics(context.Background()) }
}

func (l *link) down() (mend func()) {
	l.proxy.Stop()
	return func() {
		if err := l.proxy.Start(); err != nil {
			l.t.Error(err)
		}
	}
}
