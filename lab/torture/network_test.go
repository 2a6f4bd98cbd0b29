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

// link is the network between some clients and one server. It is a proxy of toxiproxy, which breaks
// streams of bytes as networks do. (Faults that depend on where a request begins and ends, such as
// losing the reply to a certain one, need the proxy of internal/redisserver.)
//
// Each fault lasts until the function that is returned with it is called. A link has one fault at a
// time.
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

// apply breaks some of the links in one way.
func (n network) apply(f networkFault, which ...int) (fix func()) {
	var all []func()
	for _, i := range which {
		all = append(all, f.apply(n[i]))
	}
	return func() {
		for _, fix := range all {
			fix()
		}
	}
}

// networkFault is a fault of a network.
type networkFault struct {
	name  string
	apply func(*link) (fix func())
}

var networkFaults = []networkFault{
	{"no byte comes through", func(l *link) func() { return l.addFaults(loseAll("upstream"), loseAll("downstream")) }},
	{"requests are lost", func(l *link) func() { return l.addFaults(loseAll("upstream")) }},
	{"replies are lost", func(l *link) func() { return l.addFaults(loseAll("downstream")) }},
	{"all stands still and arrives later",
		func(l *link) func() { return l.addFaults(delay("upstream", time.Hour), delay("downstream", time.Hour)) }},
	{"requests arrive late", func(l *link) func() { return l.addFaults(delay("upstream", time.Second)) }},
	{"replies arrive late", func(l *link) func() { return l.addFaults(delay("downstream", time.Second)) }},
	{"connections break within replies", func(l *link) func() {
		return l.addFaults(proxyFault{"limit_data", "downstream", `{"bytes": 2}`})
	}},
	{"connections are reset",
		func(l *link) func() { return l.addFaults(proxyFault{"reset_peer", "upstream", `{"timeout": 0}`}) }},
	{"nobody can connect", (*link).cut},
}

// faultNamed returns the fault with a name.
func faultNamed(name string) networkFault {
	for _, f := range networkFaults {
		if f.name == name {
			return f
		}
	}
	panic("no fault is called " + name)
}

// proxyFault is what toxiproxy calls a toxic: a fault in one direction. Requests go upstream.
type proxyFault struct{ kind, direction, attributes string }

// loseAll drops all bytes. It closes the connection in the end, since later bytes would be taken
// for the lost ones.
func loseAll(direction string) proxyFault { return proxyFault{"timeout", direction, `{"timeout": 0}`} }

func delay(direction string, d time.Duration) proxyFault {
	return proxyFault{"latency", direction, fmt.Sprintf(`{"latency": %d}`, d.Milliseconds())}
}

func (l *link) addFaults(all ...proxyFault) (fix func()) {
	l.t.Helper()
	for _, x := range all {
		text := fmt.Sprintf(`{"type": %q, "stream": %q, "attributes": %s}`, x.kind, x.direction, x.attributes)
		if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
			l.t.Errorf("%s: %v", text, err)
		}
	}
	return func() { l.proxy.Toxics.ResetToxics(context.Background()) }
}

func (l *link) cut() (fix func()) {
	l.proxy.Stop()
	return func() {
		if err := l.proxy.Start(); err != nil {
			l.t.Error(err)
		}
	}
}
