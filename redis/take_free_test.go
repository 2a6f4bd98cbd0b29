package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// takers are the ways to take a free lock.
func takers(e *redis.Engine) map[string]func(context.Context, driver.Request) (driver.Grant, error) {
	return map[string]func(context.Context, driver.Request) (driver.Grant, error){
		"Take": e.Take,
		"TakeAll": func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			grants, err := e.TakeAll(ctx, []driver.Request{r})
			if err != nil {
				return driver.Grant{}, err
			}
			return grants[0], nil
		},
	}
}

// Any holder text is listed as it is, and the lock belongs to its owner: whether the client's clock is ahead of the
// last token or behind it, and whether somebody waits or not.
func TestAnyTextAboutAHolder(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, beside := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	behind := strconv.FormatInt(time.Now().Add(time.Hour).UnixMicro(), 10)
	for i, text := range []string{"", "q", "\n", "\nq", "a\nb\n", "a\nq\n", "1 2 3\n", "5 6 7\nq", "shared\n1",
		"\xff\xfe", "%s%d", "ünïcode", strings.Repeat("long\n", 1000)} {
		for method, take := range takers(e) {
			for _, last := range []string{"", behind} {
				r := lasting(fmt.Sprint(method, i, last != ""), time.Minute)
				r.Holder = text
				if last != "" {
					command(t, s, "SET", "{lock:"+r.Name+"}:token", last)
				}
				g, err := take(t.Context(), r)
				if err != nil {
					t.Fatalf("%s of a lock with the text %q: %v", method, text, err)
				}
				if st := status(t, e, r.Key); len(st.Holders) != 1 || st.Holders[0].Holder != text ||
					st.Holders[0].Token != g.Token {
					t.Errorf("%s: listed %+v, want token %d and the text %q", method, st.Holders, g.Token, text)
				}
				if again := mustTake(t, e, r); again.Token != g.Token {
					t.Errorf("%s: taken again, the lock with the text %q has token %d, not %d", method, text,
						again.Token, g.Token)
				}
				next := mustJoin(t, beside, lasting(r.Name, time.Minute))
				if st := status(t, e, r.Key); len(st.Holders) != 1 || st.Holders[0].Holder != text {
					t.Errorf("%s: while somebody waits, listed %+v, want the text %q", method, st.Holders, text)
				}
				got := startWait(t, beside, next)
				release(t, e, r)
				granted(t, got)
				release(t, beside, next)
			}
		}
	}
	checkNothingLeft(t, s)
}

// A NUL would end the text for the scripts. It is left out.
func TestNULInTheTextAboutAHolder(t *testing.T) {
	t.Parallel()
	e := unguarded(t, standalone(redisserver.ForTest(t, redisserver.Config{})))
	for method, take := range takers(e) {
		r := lasting(method, time.Minute)
		r.Holder = "\x00a\x00\n\x00b\x00"
		if _, err := take(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if st := status(t, e, r.Key); len(st.Holders) != 1 || st.Holders[0].Holder != "a\nb" {
			t.Errorf("%s: listed %+v", method, st.Holders)
		}
		release(t, e, r)
	}
}

// Reserved tokens follow the last token, whether the client's clock is ahead of it or behind it.
func TestReservedTokens(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for method, take := range takers(e) {
		const key = "{lock:a}:token"
		for _, last := range []int64{0, 1, time.Now().Add(-time.Hour).UnixMicro(),
			time.Now().Add(time.Hour).UnixMicro(), driver.MaxToken - 1000} {
			command(t, s, "SET", key, strconv.FormatInt(last, 10))
			for _, tokens := range []int{1, 2, 7, 100} {
				r := lasting("a", time.Minute)
				r.Tokens = tokens
				floor := time.Now().UnixMicro()
				g, err := take(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				first := int64(g.Token)
				if g.Tokens != tokens || first <= last || first < floor || last > floor && first != last+1 {
					t.Errorf("%s of %d tokens after %d at %d: got %d from %d", method, tokens, last, floor, g.Tokens,
						first)
				}
				last = first + int64(tokens) - 1
				if is := command(t, s, "GET", key); is != strconv.FormatInt(last, 10) {
					t.Errorf("%s of %d tokens: the last token is noted as %v, want %d", method, tokens, is, last)
				}
				if again := mustTake(t, e, r); again.Token != g.Token || again.Tokens != tokens {
					t.Errorf("%s: taken again, got %d from %d, want %d from %d", method, again.Tokens, again.Token,
						tokens, g.Token)
				}
				release(t, e, r)
			}
		}
	}
	checkNothingLeft(t, s)
}

// The largest token can be granted, and none after it. A refusal changes nothing.
func TestLastTokens(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	all := takers(e)
	all["Take for readers"] = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
		return e.Take(ctx, shared(r))
	}
	for method, take := range all {
		for _, c := range []struct {
			last    string
			tokens  int
			granted uint64
		}{
			{"9007199254740989", 1, driver.MaxToken - 1},
			{"9007199254740989", 2, driver.MaxToken - 1},
			{"9007199254740990", 1, driver.MaxToken},
			{"9007199254740990", 2, 0},
			{"9007199254740991", 1, 0},
			{"9007199254740992", 1, 0},
			{"9007199254740993", 1, 0},
			{"9223372036854775807", 1, 0},
			{"99999999999999999999999999", 1, 0},
		} {
			const key = "{lock:a}:token"
			command(t, s, "SET", key, c.last, "EX", "1000")
			r := lasting("a", time.Minute)
			r.Tokens = c.tokens
			g, err := take(t.Context(), r)
			if c.granted != 0 {
				if err != nil || g.Token != c.granted {
					t.Errorf("%s of %d after %s: token %d, %v, want %d", method, c.tokens, c.last, g.Token, err,
						c.granted)
				}
				if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
					t.Errorf("%s of %d after %s: Release: %v", method, c.tokens, c.last, err)
				}
				continue
			}
			if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "2^53") {
				t.Errorf("%s of %d after %s: token %d, %v, want an error that there are no more", method, c.tokens,
					c.last, g.Token, err)
			}
			if command(t, s, "EXISTS", "lock:a") != int64(0) {
				t.Errorf("%s of %d after %s: the lock is left behind", method, c.tokens, c.last)
			}
			if is := command(t, s, "GET", key); is != c.last {
				t.Errorf("%s of %d after %s: the last token is %v now", method, c.tokens, c.last, is)
			}
		}
	}
	checkNothingLeft(t, s)
}

// A floor that leaves no room for the tokens is refused like a last token that does.
func TestFloorAmongTheLastTokens(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for _, r := range []driver.Request{lasting("a", time.Minute), shared(lasting("a", time.Minute))} {
		for tokens, largest := range map[int]uint64{1: driver.MaxToken, 2: driver.MaxToken - 1,
			100: driver.MaxToken - 99} {
			r.Tokens = tokens
			for _, floor := range []uint64{largest, largest + 1, driver.MaxToken + 1} {
				g, err := e.TakeFrom(t.Context(), quorumnode.Request{Request: r, Floor: floor})
				if floor <= largest {
					if err != nil || g.Token != floor {
						t.Errorf("%d tokens from %d: %d, %v", tokens, floor, g.Token, err)
					}
					release(t, e, r)
				} else if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "2^53") {
					t.Errorf("%d tokens from %d: %d, %v, want an error that there are no more", tokens, floor,
						g.Token, err)
				}
				command(t, s, "DEL", "{lock:a}:token")
				checkNothingLeft(t, s)
			}
		}
	}
}

// Whatever somebody has written to the key of the last token, the lock is granted with a valid token, and the key ends.
func TestDamagedTokens(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for method, take := range takers(e) {
		for _, damaged := range []string{"", "q", "0q", "abc", "nan", "-nan", "inf", "-inf", "-5", "1e3", "0x10", " 7 ",
			"7.5", "12abc", "12q34", "\n", "5\n", strings.Repeat("x", 1000)} {
			command(t, s, "SET", "{lock:a}:token", damaged)
			r := lasting("a", time.Minute)
			floor := uint64(time.Now().UnixMicro())
			g, err := take(t.Context(), r)
			if errors.Is(err, driver.ErrHeld) && method == "TakeAll" { // the core then takes one by one
				g, err = e.Take(t.Context(), r)
			}
			if err != nil || g.Token < floor || g.Token > floor+uint64(time.Minute.Microseconds()) {
				t.Errorf("%s after %q: token %d, %v, want one from %d", method, damaged, g.Token, err, floor)
			}
			if is := command(t, s, "GET", "{lock:a}:token"); err == nil && is != strconv.FormatUint(g.Token, 10) {
				t.Errorf("%s after %q: the last token is noted as %q, want %d", method, damaged, is, g.Token)
			}
			if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
				t.Errorf("Release after %q: %v", damaged, err)
			}
			checkNothingLeft(t, s)
		}
	}
}

// An owner is distinguished from all others, even from those that begin like it. A value of another client that looks
// like an owner is not a hold of ours.
func TestOwnersAreDistinguished(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	mine := lasting("a", time.Minute)
	for _, value := range []string{mine.Owner, mine.Owner + "q", mine.Owner + " 1 1 1", mine.Owner[:10] + "\n1 1 1\n\n",
		mine.Owner + "x\n1 1 1\n\n", "\n" + mine.Owner + "\n1 1 1\n\n", ""} {
		command(t, s, "SET", "lock:a", value, "EX", "100")
		for method, take := range takers(e) {
			if g, err := take(t.Context(), mine); !errors.Is(err, driver.ErrHeld) {
				t.Errorf("%s of what %q holds: token %d, %v, want ErrHeld", method, value, g.Token, err)
			}
		}
		if err := renewOne(t.Context(), e, hold(mine), time.Minute); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Renew of what %q holds: %v, want ErrNotHeld", value, err)
		}
		if err := e.Release(t.Context(), driver.Release{Hold: hold(mine)}); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Release of what %q holds: %v, want ErrNotHeld", value, err)
		}
		if is := command(t, s, "GET", "lock:a"); is != value {
			t.Errorf("the value %q is %q now", value, is)
		}
	}
	command(t, s, "DEL", "lock:a")
	checkNothingLeft(t, s)
}

// Owners are distinguished by the line in which they stand. An owner that cannot stand in a line of its own is refused:
// the core makes no such owners.
func TestOwnersThatCannotBeDistinguished(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	kept := lasting("kept", time.Minute)
	mustTake(t, e, kept)
	if err := e.Release(t.Context(), driver.Release{Hold: hold(kept), Keep: time.Minute}); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"", "\n", "a\nb", "a\n5", "a\x00b", "a\x7f"} {
		free, other := lasting("free", time.Minute), lasting("kept", time.Minute)
		free.Owner, other.Owner = owner, owner
		for method, take := range takers(e) {
			for _, r := range []driver.Request{free, other} {
				if g, err := take(t.Context(), r); !driver.IsPermanent(err) ||
					!strings.Contains(err.Error(), "printable") {
					t.Errorf("%s by %q: token %d, %v, want a permanent error", method, owner, g.Token, err)
				}
			}
		}
		for what, err := range map[string]error{
			"Renew":     renewOne(t.Context(), e, hold(other), time.Hour),
			"Release":   e.Release(t.Context(), driver.Release{Hold: hold(other)}),
			"Downgrade": e.Downgrade(t.Context(), hold(other)),
			"Raise":     e.Raise(t.Context(), quorumnode.Raise{Key: other.Key, Owner: owner, Token: 1, Tokens: 1}),
		} {
			if !driver.IsPermanent(err) {
				t.Errorf("%s by %q: %v, want a permanent error", what, owner, err)
			}
		}
	}
	if keys := keysWith(t, s, "not string.find(key, ':token$')"); len(keys) != 1 || keys[0] != "lock:kept" {
		t.Errorf("there is %q, want what is kept only", keys)
	}
}
