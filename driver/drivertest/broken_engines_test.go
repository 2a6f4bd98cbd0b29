package drivertest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/memory"
)

// changedEngine changes requests and grants on the way to and from an engine.
type changedEngine struct {
	*memory.Engine
	grant   func(*driver.Grant)
	request func(*driver.Request)
}

func (c changedEngine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return c.send(ctx, r, c.Engine.Take)
}

func (c changedEngine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return c.send(ctx, r, c.Engine.Wait)
}

func (c changedEngine) send(ctx context.Context, r driver.Request,
	method func(context.Context, driver.Request) (driver.Grant, error),
) (driver.Grant, error) {
	if c.request != nil {
		c.request(&r)
	}
	g, err := method(ctx, r)
	if c.grant != nil {
		c.grant(&g)
	}
	return g, err
}

func grants(f func(*driver.Grant)) func(*memory.Engine) driver.Engine {
	return func(e *memory.Engine) driver.Engine { return changedEngine{Engine: e, grant: f} }
}

func requests(f func(*driver.Request)) func(*memory.Engine) driver.Engine {
	return func(e *memory.Engine) driver.Engine { return changedEngine{Engine: e, request: f} }
}

// renamingEngine rewrites the names in all requests.
type renamingEngine struct {
	*memory.Engine
	key func(driver.Key) driver.Key
}

func (w renamingEngine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Key = w.key(r.Key)
	return w.Engine.Take(ctx, r)
}

func (w renamingEngine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Key = w.key(r.Key)
	return w.Engine.Wait(ctx, r)
}

func (w renamingEngine) Release(ctx context.Context, r driver.Release) error {
	r.Key = w.key(r.Key)
	return w.Engine.Release(ctx, r)
}

func keys(f func(driver.Key) driver.Key) func(*memory.Engine) driver.Engine {
	return func(e *memory.Engine) driver.Engine { return renamingEngine{e, f} }
}

var mutants = []mutant{
	{"gives tokens twice", "Tokens/GrowOverRelease", grants(func(g *driver.Grant) { g.Token = (g.Token + 1) / 2 })},
	{"gives tokens of others in a range", "Tokens/RangesDoNotOverlap", requestsTokens},
	{"one owner for all", "Exclusion/OneHolderAtATime", requests(func(r *driver.Request) { r.Owner = "all" })},
	{"lets leases last", "Expiry/LeaseEnds", requests(func(r *driver.Request) { r.TTL *= 1000 })},
	{"ends leases early", "Expiry/LeaseLastsFromTake", requests(func(r *driver.Request) { r.TTL /= 2 })},
	{"ends leases of waiters early", "Expiry/LeaseLastsFromGrant", requests(func(r *driver.Request) { r.TTL /= 2 })},
	{"counts from the reply", "Expiry/LeaseLastsFromGrant",
		grants(func(g *driver.Grant) { g.Start = driver.Now().Add(time.Hour) })},
	{"does not say when it granted", "Queue/ReleaseHandsOver",
		grants(func(g *driver.Grant) { g.Start = driver.Instant{} })},
	{"shows the owner", "Listing/OwnersAreSecret", requests(func(r *driver.Request) { r.Holder = r.Owner })},
	{"forgets the holder's text", "Names/HolderTexts", requests(func(r *driver.Request) { r.Holder = "?" })},
	{"takes readers for writers", "Shared/ReadersTogether",
		requests(func(r *driver.Request) { r.Mode = driver.Exclusive })},
	{"counts each holder once", "Permits/NoMoreThanTheSize", requests(func(r *driver.Request) { r.Weight = 1 })},
	{"queues owners that did not ask", "Queue/RefusedTakeLeavesNoPlace",
		requests(func(r *driver.Request) { r.Join = true })},
	{"folds case", "Names/NamesAreApart",
		keys(func(k driver.Key) driver.Key { k.Name = strings.ToLower(k.Name); return k })},
	{"trims names", "Names/NamesAreApart",
		keys(func(k driver.Key) driver.Key { k.Name = strings.TrimSpace(k.Name); return k })},
	{"cuts names", "Names/LongestName",
		keys(func(k driver.Key) driver.Key { k.Name = k.Name[:min(len(k.Name), 255)]; return k })},
	{"mixes kinds", "Exclusion/KindsAreApart", keys(func(k driver.Key) driver.Key { k.Kind = driver.Lock; return k })},

	{"deletes on release", "Release/LateReleaseLeavesTheNextHolderAlone",
		func(e *memory.Engine) driver.Engine { return plainDelete{e} }},
	{"ignores Keep", "Release/KeepLeavesItTaken", func(e *memory.Engine) driver.Engine { return noKeep{e} }},
	{"keeps for the owner", "Release/KeepEndsThePossession",
		func(e *memory.Engine) driver.Engine { return keepForOwner{e} }},
	{"brings back in Renew", "Expiry/RenewDoesNotBringBack",
		func(e *memory.Engine) driver.Engine { return bringsBack{e} }},
	{"shortens in Renew", "Renewal/RenewNeverShortens", func(e *memory.Engine) driver.Engine { return shortens{e} }},
	{"fails a batch as one", "Renewal/PartOfABatchFails",
		func(e *memory.Engine) driver.Engine { return allOrNothing{e} }},
	{"stops at the first failure", "Renewal/PartOfABatchFails",
		func(e *memory.Engine) driver.Engine { return stopsAtFailure{e} }},
	{"grants anew", "Exclusion/TakeAgainAnswersTheSame", func(e *memory.Engine) driver.Engine { return takesAnew{e} }},
	{"grants anew when a reply was lost", "Unknown/TakeIsRepeated",
		func(e *memory.Engine) driver.Engine { return takesAnew{e} }},
	{"counts each Take", "Permits/TakeAgainCountsOnce", countsEachTake()},
	{"has no queue", "Queue/NewcomersDoNotOvertake", func(e *memory.Engine) driver.Engine { return noQueue{e} }},
	{"keeps the places of released waiters", "Queue/ReleasedPlaceIsGone",
		func(e *memory.Engine) driver.Engine { return keepsPlaces{e} }},
	{"keeps the places of callers that gave up", "Queue/CancelledWaiterLeavesNoPlace",
		func(e *memory.Engine) driver.Engine { return keepsPlaces{e} }},
	{"waits for ever", "Queue/WaitEndsWithItsContext", func(e *memory.Engine) driver.Engine { return waitsForEver{e} }},
	{"releases in Downgrade", "Shared/DowngradeKeepsTokenAndLease",
		func(e *memory.Engine) driver.Engine { return letsGo{e} }},
	{"forces any holder", "Force/ForceReleaseNeedsTheToken",
		func(e *memory.Engine) driver.Engine { return forcesAll{e} }},
	{"takes as many as it can", "All/AllOrNothing", func(e *memory.Engine) driver.Engine { return takesSome{e} }},
	{"releases all when one is lost", "All/AgainAfterOneIsLost",
		func(e *memory.Engine) driver.Engine { return dropsAll{e} }},
	{"grants all anew", "All/AgainAnswersTheSame", func(e *memory.Engine) driver.Engine { return takesAllAnew{e} }},
	{"takes all past a queue", "All/NobodyIsOvertaken", func(e *memory.Engine) driver.Engine { return noQueue{e} }},
	{"mixes up grants", "All/NamesHeldAlreadyStay", func(e *memory.Engine) driver.Engine { return mixesUp{e} }},
	{"does not wait for readers", "All/ReadersKeepAllOut",
		func(e *memory.Engine) driver.Engine { return sharesAll{e} }},
	{"ignores floors", "Raise/FloorIsTheLeastToken", func(e *memory.Engine) driver.Engine { return noFloor{e} }},
	{"raises for all", "Raise/OnlyTheHolderRaises", func(e *memory.Engine) driver.Engine { return raisesForAll{e} }},
	{"pretends to raise", "Raise/RaiseGoesOnFromThere",
		func(e *memory.Engine) driver.Engine { return raisesNothing{e} }},
	{"lowers", "Raise/RaiseNeverLowers", func(e *memory.Engine) driver.Engine { return lowers{e, new(sync.Map)} }},
	{"pretends to raise a larger token", "Raise/RaiseNeverLowers",
		func(e *memory.Engine) driver.Engine { return claimsRaise{e} }},
	{"hides the holder in votes", "Votes/VotesShowTheHolder", votes(func(v *driver.Vote) { v.Holders = nil })},
	{"shows a holder of a free name in votes", "Votes/VotesOfAFreeName",
		votes(func(v *driver.Vote) { v.Holders = append(v.Holders, driver.Holder{Token: 1}) })},
	{"gives all nodes the same name", "Votes/VotesOfAFreeName", votes(func(v *driver.Vote) { v.Node = "place" })},
	{"gives nodes random names", "Votes/VotesShowTheHolder", votes(func(v *driver.Vote) { v.Node = rand.Text() })},
	{"shows the refused in votes", "Votes/VotesShowNoneWhoIsRefused",
		votesShowToo(func(r driver.Request, err error) (string, bool) { return r.Holder, err != nil })},
	{"shows owners in votes", "Votes/VotesShowNoOwner",
		votesShowToo(func(r driver.Request, err error) (string, bool) { return r.Owner, err == nil })},
	{"counts repeated CountDowns", "Latch/RepeatedRequestsCountOnce", countsRepeated()},
	{"forgets where a page ended", "Paging/ListInPages", func(e *memory.Engine) driver.Engine { return noPages{e} }},
	{"leaves goroutines", "Leak/NoGoroutineIsLeft", func(e *memory.Engine) driver.Engine { return leaksGoroutines{e} }},
}

// requestsTokens promises the requested range of tokens, but reserves only one.
func requestsTokens(e *memory.Engine) driver.Engine { return shortRange{e} }

type shortRange struct{ *memory.Engine }

func (s shortRange) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	n := r.Tokens
	r.Tokens = 1
	g, err := s.Engine.Take(ctx, r)
	g.Tokens = n
	return g, err
}

type plainDelete struct{ *memory.Engine }

func (p plainDelete) Release(ctx context.Context, r driver.Release) error {
	err := p.Engine.Release(ctx, r)
	if !errors.Is(err, driver.ErrNotHeld) {
		return err
	}
	return forcesAll(p).ForceRelease(ctx, r.Key, 0)
}

type forcesAll struct{ *memory.Engine }

func (f forcesAll) ForceRelease(ctx context.Context, k driver.Key, _ uint64) error {
	found, err := f.List(ctx, driver.Query{Kind: k.Kind, Name: k.Name})
	if err != nil || len(found) == 0 || len(found[0].Holders) == 0 {
		return driver.ErrNotHeld
	}
	return f.Engine.ForceRelease(ctx, k, found[0].Holders[0].Token)
}

type noKeep struct{ *memory.Engine }

func (n noKeep) Release(ctx context.Context, r driver.Release) error {
	r.Keep = 0
	return n.Engine.Release(ctx, r)
}

type keepForOwner struct{ *memory.Engine }

func (k keepForOwner) Release(ctx context.Context, r driver.Release) (err error) {
	if r.Keep == 0 {
		return k.Engine.Release(ctx, r)
	}
	k.Renew(ctx, []driver.Renewal{{Hold: r.Hold, TTL: r.Keep}}, func(_ int, outcome error) { err = outcome })
	return err
}

type bringsBack struct{ *memory.Engine }

func (b bringsBack) Renew(ctx context.Context, batch []driver.Renewal, report func(int, error)) {
	b.Engine.Renew(ctx, batch, func(i int, err error) {
		if err != nil {
			_, err = b.Take(ctx, driver.Request{Key: batch[i].Key, Owner: batch[i].Owner, Size: 1, Weight: 1,
				TTL: batch[i].TTL, Tokens: 1})
		}
		report(i, err)
	})
}

// shortens sets the end of a lease to what the latest renewal says.
type shortens struct{ *memory.Engine }

func (s shortens) Renew(ctx context.Context, batch []driver.Renewal, report func(int, error)) {
	for i, r := range batch {
		g, err := s.Take(ctx, driver.Request{Key: r.Key, Owner: r.Owner, Size: 1, Weight: 1, TTL: time.Millisecond})
		if err == nil {
			err = s.Release(ctx,
				driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner, Token: g.Token}, Keep: r.TTL})
		}
		report(i, err)
	}
}

type allOrNothing struct{ *memory.Engine }

func (a allOrNothing) Renew(ctx context.Context, batch []driver.Renewal, report func(int, error)) {
	var failed error
	a.Engine.Renew(ctx, batch, func(_ int, err error) { failed = errors.Join(failed, err) })
	for i := range batch {
		report(i, failed)
	}
}

type stopsAtFailure struct{ *memory.Engine }

func (s stopsAtFailure) Renew(ctx context.Context, batch []driver.Renewal, report func(int, error)) {
	stopped := false
	s.Engine.Renew(ctx, batch, func(i int, err error) {
		if !stopped {
			report(i, err)
		}
		stopped = stopped || err != nil
	})
}

type takesAnew struct{ *memory.Engine }

func (t takesAnew) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	_ = t.Release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
	return t.Engine.Take(ctx, r)
}

// countsEachTake hides from the engine that an owner asks again.
func countsEachTake() func(*memory.Engine) driver.Engine {
	var n atomic.Int64
	return requests(func(r *driver.Request) {
		if n.Add(1)%2 == 0 {
			r.Owner += "again"
		}
	})
}

type noQueue struct{ *memory.Engine }

func (n noQueue) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join = false
	return n.Engine.Take(ctx, r)
}

func (n noQueue) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	for ctx.Err() == nil {
		start := driver.Now()
		if g, err := n.Take(ctx, r); err == nil {
			g.Start = start
			return g, nil
		}
		time.Sleep(time.Millisecond)
	}
	return driver.Grant{}, ctx.Err()
}

type keepsPlaces struct{ *memory.Engine }

func (g keepsPlaces) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	grant, err := g.Engine.Wait(ctx, r)
	if err != nil {
		r.Join = true
		return g.Take(context.WithoutCancel(ctx), r)
	}
	return grant, err
}

func (g keepsPlaces) Release(ctx context.Context, r driver.Release) (err error) {
	g.Renew(ctx, []driver.Renewal{{Hold: r.Hold}}, func(_ int, outcome error) { err = outcome })
	if err != nil {
		return err // does not hold, so it must be waiting
	}
	return g.Engine.Release(ctx, r)
}

type waitsForEver struct{ *memory.Engine }

func (w waitsForEver) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return w.Engine.Wait(context.WithoutCancel(ctx), r)
}

type letsGo struct{ *memory.Engine }

func (l letsGo) Downgrade(ctx context.Context, h driver.Hold) error {
	if err := l.Release(ctx, driver.Release{Hold: h}); err != nil {
		return err
	}
	_, err := l.Take(ctx, driver.Request{Key: h.Key, Owner: h.Owner, Mode: driver.Shared, Size: 1, Weight: 1,
		TTL: time.Minute, Tokens: 1})
	return err
}

type takesSome struct{ *memory.Engine }

func (s takesSome) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	var grants []driver.Grant
	for _, r := range batch {
		g, err := s.Take(ctx, r)
		if err != nil {
			return nil, err
		}
		grants = append(grants, g)
	}
	return grants, nil
}

// dropsAll undoes its grants on failure, including locks that were held before.
type dropsAll struct{ *memory.Engine }

func (d dropsAll) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	grants, err := takesSome(d).TakeAll(ctx, batch)
	if err != nil {
		for _, r := range batch {
			_ = d.Release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
		}
	}
	return grants, err
}

type takesAllAnew struct{ *memory.Engine }

func (t takesAllAnew) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	for _, r := range batch {
		_ = t.Release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
	}
	return t.Engine.TakeAll(ctx, batch)
}

type mixesUp struct{ *memory.Engine }

func (m mixesUp) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	grants, err := m.Engine.TakeAll(ctx, batch)
	slices.Reverse(grants)
	return grants, err
}

// sharesAll asks for shared locks.
type sharesAll struct{ *memory.Engine }

func (s sharesAll) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	batch = slices.Clone(batch)
	for i := range batch {
		batch[i].Mode = driver.Shared
	}
	return s.Engine.TakeAll(ctx, batch)
}

type repeatedDowns struct {
	*memory.Engine
	n *atomic.Int64
}

// countsRepeated gives each CountDown an ID of its own.
func countsRepeated() func(*memory.Engine) driver.Engine {
	var n atomic.Int64
	return func(e *memory.Engine) driver.Engine { return repeatedDowns{e, &n} }
}

func (c repeatedDowns) CountDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	d.ID += string(rune('a' + c.n.Add(1)))
	return c.Engine.CountDown(ctx, d)
}

type noPages struct{ *memory.Engine }

func (n noPages) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	q.After = driver.Key{}
	return n.Engine.List(ctx, q)
}

type leaksGoroutines struct{ *memory.Engine }

func (l leaksGoroutines) Renew(ctx context.Context, batch []driver.Renewal, report func(int, error)) {
	go func() { select {} }()
	l.Engine.Renew(ctx, batch, report)
}

type noFloor struct{ *memory.Engine }

func (n noFloor) TakeFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	return n.Engine.Take(ctx, r.Request)
}

// raisesForAll raises the next token for the holder and for others alike.
type raisesForAll struct{ *memory.Engine }

func (a raisesForAll) Raise(ctx context.Context, r quorumnode.Raise) error {
	if err := a.Engine.Raise(ctx, r); err == nil {
		return nil
	}
	other := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "\x01"}, Owner: "\x01", TTL: 1}
	_, _ = a.Engine.TakeFrom(ctx, quorumnode.Request{Request: other, Floor: r.Token}) // names share one token counter
	return driver.ErrNotHeld
}

type raisesNothing struct{ *memory.Engine }

func (raisesNothing) Raise(context.Context, quorumnode.Raise) error { return nil }

// lowers remembers the last raise, even one to a smaller token.
type lowers struct {
	*memory.Engine
	told *sync.Map
}

func (l lowers) Raise(ctx context.Context, r quorumnode.Raise) error {
	l.told.Store(r.Owner, r.Token)
	return l.Engine.Raise(ctx, r)
}

func (l lowers) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := l.Engine.Take(ctx, r)
	if token, ok := l.told.Load(r.Owner); ok {
		g.Token = token.(uint64)
	}
	return g, err
}

type claimsRaise struct{ *memory.Engine }

func (a claimsRaise) Raise(ctx context.Context, r quorumnode.Raise) error {
	if page, err := a.Engine.List(ctx, driver.Query{Kind: r.Kind, Name: r.Name}); err == nil && len(page) == 1 &&
		len(page[0].Holders) == 1 && page[0].Holders[0].Token > r.Token {
		return nil
	}
	return a.Engine.Raise(ctx, r)
}

// voting is an engine of three nodes that agree. It changes their votes on the way.
type voting struct {
	*memory.Engine
	vote func(*driver.Vote)
}

func votes(f func(*driver.Vote)) func(*memory.Engine) driver.Engine {
	return func(e *memory.Engine) driver.Engine { return voting{e, f} }
}

func (v voting) Votes(ctx context.Context, k driver.Key) (all []driver.Vote, err error) {
	page, err := v.List(ctx, driver.Query{Kind: k.Kind, Name: k.Name})
	for _, node := range []string{"a", "b", "c"} {
		vote := driver.Vote{Node: node}
		for _, s := range page {
			vote.Holders = s.Holders
		}
		if v.vote != nil {
			v.vote(&vote)
		}
		all = append(all, vote)
	}
	return all, err
}

// showsToo shows a text about some requests in its votes.
type showsToo struct {
	voting
	which func(r driver.Request, err error) (text string, is bool)
	texts *sync.Map
}

func votesShowToo(which func(r driver.Request, err error) (text string, is bool)) func(*memory.Engine) driver.Engine {
	texts := new(sync.Map)
	return func(e *memory.Engine) driver.Engine { return showsToo{voting{Engine: e}, which, texts} }
}

func (s showsToo) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Engine.Take(ctx, r)
	if text, is := s.which(r, err); is {
		s.texts.Store(r.Key, text)
	}
	return g, err
}

func (s showsToo) Votes(ctx context.Context, k driver.Key) ([]driver.Vote, error) {
	all, err := s.voting.Votes(ctx, k)
	if text, ok := s.texts.Load(k); ok {
		all[0].Holders = []driver.Holder{{Holder: text.(string)}}
	}
	return all, err
}
