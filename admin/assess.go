package admin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// assessment collects findings about servers.
type assessment struct {
	servers  []Server
	majority bool
	ttl      time.Duration
	findings []Finding
}

func (a *assessment) add(s Severity, code, server, text, fix string) {
	a.findings = append(a.findings, Finding{Severity: s, Code: code, Server: server, Text: text, Fix: fix})
}

// isMajorityWell reports whether locks work without the servers that are not well, because a majority of the voters is.
func (a *assessment) isMajorityWell(well func(Server) bool) bool {
	voters, left := 0, 0
	for _, p := range a.servers {
		if p.Votes {
			voters++
			if well(p) {
				left++
			}
		}
	}
	return a.majority && left > voters/2
}

// isGranting reports whether a server grants leases, as far as is known.
func isGranting(p Server) bool { return p.Err == nil && p.Closed == 0 }

// judgeSilent finds servers that do not answer, or answer with an error.
func (a *assessment) judgeSilent() {
	enough := a.isMajorityWell(isGranting)
	for _, p := range a.servers {
		if p.Err == nil {
			continue
		}
		severity, consequence := Critical, "locks that need it can neither be taken nor renewed"
		switch {
		case !p.Votes:
			severity, consequence = Warning, "no lock needs it now, but it may have to take over"
		case enough:
			severity, consequence = Warning, "locks work, as a majority is left"
		}
		if errors.Is(p.Err, ErrSilent) {
			a.add(severity, "server-silent", p.Name,
				"it does not answer: "+consequence,
				"check that it runs, and that the network lets this machine through")
			continue
		}
		a.add(severity, "server-error", p.Name,
			fmt.Sprintf("it could not be examined: %s; %s", p.Err, consequence),
			"fix what the error says")
	}
}

// judgeClosed finds servers that grant nothing for a while.
func (a *assessment) judgeClosed() {
	enough := a.isMajorityWell(isGranting)
	for _, p := range a.servers {
		if p.Closed <= 0 || !p.Votes {
			continue
		}
		severity, consequence := Critical, "no lock that needs it is granted meanwhile; those that are held are renewed"
		if enough {
			severity, consequence = Warning, "locks work, as a majority is left"
		}
		closed := driver.GrantsClosedError{Open: time.Now().Add(p.Closed),
			Reason: "it was restarted or promoted, or has no record of earlier use"}
		a.add(severity, "grants-closed", p.Name,
			fmt.Sprintf("%s, so it may lack leases: %s", closed.Error(), consequence),
			"wait; and find out why it was restarted. If it is new, or nothing is missing, "+
				"leasehold open opens a Redis server at once; for tests, guard=off in the URL turns this off")
	}
}

// maxClockDifference is how much two clocks may differ. NTP keeps them far closer.
const maxClockDifference = time.Second

// judgeClocks finds clocks that are wrong.
func (a *assessment) judgeClocks() {
	var timed, wrong []Server
	for _, p := range a.servers {
		if p.Err == nil && p.HasClock {
			timed = append(timed, p)
			if p.Ahead.Abs() > maxClockDifference+clockUncertainty(p) {
				wrong = append(wrong, p)
			}
		}
	}
	const (
		meaning = "Leases are measured as durations, so this breaks nothing by itself. " +
			"But one of the clocks is wrong: if it is then set, leases end early on a server that ends them by its " +
			"clock, and names whose last token was lost may get smaller tokens from a machine that is behind"
		fix = "let NTP set the clocks, slowly"
	)
	low, high := extremeClocks(timed)
	differ := high.Ahead-low.Ahead > maxClockDifference+clockUncertainty(low)+clockUncertainty(high)
	if len(wrong) == len(timed) && len(timed) > 1 && !differ {
		a.add(Warning, "clock-difference", "",
			fmt.Sprintf("the clock of this machine is %s all the others. %s", describeAhead(-low.Ahead), meaning),
			fix)
		return
	}
	for _, p := range wrong {
		a.add(Warning, "clock-difference", p.Name,
			fmt.Sprintf("its clock is %s that of this machine. %s", describeAhead(p.Ahead), meaning),
			fix)
	}
	if len(wrong) == 0 && len(timed) > 1 && differ {
		ahead := describeAhead(high.Ahead - low.Ahead)
		a.add(Warning, "clock-difference", "",
			fmt.Sprintf("the clock of %s is %s that of %s. %s", high.Name, ahead, low.Name, meaning),
			fix)
	}
}

// clockUncertainty is how far off a reading of a server's clock may be.
func clockUncertainty(p Server) time.Duration { return max(p.RoundTrip, 0) / 2 }

// extremeClocks returns the servers whose clocks are furthest behind and furthest ahead.
func extremeClocks(all []Server) (low, high Server) {
	if len(all) == 0 {
		return low, high
	}
	byClock := func(a, b Server) int { return cmp.Compare(a.Ahead, b.Ahead) }
	return slices.MinFunc(all, byClock), slices.MaxFunc(all, byClock)
}

func describeAhead(ahead time.Duration) string {
	if ahead < 0 {
		return formatShort(-ahead) + " behind"
	}
	return formatShort(ahead) + " ahead of"
}

// judgeSlow finds servers that are too slow for the ttl: a lease is renewed every third of it.
func (a *assessment) judgeSlow() {
	quick := a.isMajorityWell(func(p Server) bool { return isGranting(p) && p.RoundTrip <= a.ttl/10 })
	for _, p := range a.servers {
		if !p.Votes || p.Err != nil || p.RoundTrip <= a.ttl/10 {
			continue
		}
		severity, limit, consequence := Warning, "a tenth", "a little more, and renewals come too late"
		if p.RoundTrip > a.ttl/3 {
			severity, limit, consequence = Critical, "a third", "renewals come too late, and leases are lost"
		}
		if quick {
			severity, consequence = Warning, "the others do not wait for it"
		}
		a.add(severity, "slow", p.Name,
			fmt.Sprintf("its quickest answer took %s, more than %s of the ttl of %s: %s",
				formatShort(p.RoundTrip), limit, formatShort(a.ttl), consequence),
			"move it closer, find out what keeps it busy, or use a longer ttl")
	}
}

// sortFindings returns the findings, the worst first, and then in the order of servers.
func (a *assessment) sortFindings() []Finding {
	at := map[string]int{"": -1}
	for i, p := range a.servers {
		if _, known := at[p.Name]; !known {
			at[p.Name] = i
		}
	}
	slices.SortStableFunc(a.findings, func(x, y Finding) int {
		return cmp.Or(
			cmp.Compare(y.Severity, x.Severity),
			cmp.Compare(at[x.Server], at[y.Server]),
			cmp.Compare(x.Code, y.Code),
		)
	})
	return a.findings
}

// formatShort formats a duration with few digits.
func formatShort(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
