package leasehold

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// assessment collects findings about places.
type assessment struct {
	places   []Place
	majority bool
	ttl      time.Duration
	findings []Finding
}

func (j *assessment) find(s Severity, code, place, text, mend string) {
	j.findings = append(j.findings, Finding{Severity: s, Code: code, Place: place, Text: text, Mend: mend})
}

// enough reports whether locks work without the places that are not well: a majority of those that vote is.
func (j *assessment) enough(well func(Place) bool) bool {
	voters, left := 0, 0
	for _, p := range j.places {
		if p.Votes {
			voters++
			if well(p) {
				left++
			}
		}
	}
	return j.majority && left > voters/2
}

// grants reports whether a place grants leases, as far as is known.
func grants(p Place) bool { return p.Err == nil && p.Closed == 0 }

// silent finds places that say nothing, or refuse to.
func (j *assessment) silent() {
	enough := j.enough(grants)
	for _, p := range j.places {
		if p.Err == nil {
			continue
		}
		severity, consequence := Critical, "locks that need it cannot be had or renewed"
		switch {
		case !p.Votes:
			severity, consequence = Warning, "no lock needs it now, but it may have to take over"
		case enough:
			severity, consequence = Warning, "locks work, as a majority is left"
		}
		if errors.Is(p.Err, ErrSilent) {
			j.find(severity, "place-silent", p.Name,
				"it does not answer: "+consequence,
				"look whether it runs, and whether the network lets this machine through")
			continue
		}
		j.find(severity, "place-error", p.Name, fmt.Sprintf("nothing could be found out: %s; %s", p.Err, consequence), "see to what the error says")
	}
}

// closed finds places that grant nothing for a while.
func (j *assessment) closed() {
	enough := j.enough(grants)
	for _, p := range j.places {
		if p.Closed <= 0 || !p.Votes {
			continue
		}
		severity, consequence := Critical, "no lock that needs it is granted meanwhile; those that are held are renewed"
		if enough {
			severity, consequence = Warning, "locks work, as a majority is left"
		}
		j.find(severity, "grants-closed", p.Name,
			fmt.Sprintf("it was started or promoted a short while ago, or nobody has seen it in use: it may lack leases, and grants nothing for another %s: "+
				"%s", short(p.Closed), consequence),
			"wait; and find out why it was restarted. If it is new, or nothing is missing, leasehold open opens a Redis server at once")
	}
}

// mostApart is by how much two clocks may differ. NTP keeps them far closer.
const mostApart = time.Second

// clocks finds clocks that are wrong.
func (j *assessment) clocks() {
	var timed, wrong []Place
	for _, p := range j.places {
		if p.Err == nil && p.HasClock {
			timed = append(timed, p)
			if p.Ahead.Abs() > mostApart+unsure(p) {
				wrong = append(wrong, p)
			}
		}
	}
	const (
		meaning = "Leases are measured as durations, so this breaks nothing by itself. But one of the clocks is wrong: if it is then set, " +
			"leases end early on a server that ends " +
			"them by its clock, and names whose last token was lost may get smaller tokens from a machine that is behind"
		mend = "let NTP set the clocks, slowly"
	)
	if low, high := spread(timed); len(wrong) == len(timed) && len(timed) > 1 && high.Ahead-low.Ahead <= mostApart+unsure(low)+unsure(high) {
		j.find(Warning, "clock-difference", "", fmt.Sprintf("the clock of this machine is %s all the others. %s", apart(-low.Ahead), meaning), mend)
		return
	}
	for _, p := range wrong {
		j.find(Warning, "clock-difference", p.Name, fmt.Sprintf("its clock is %s that of this machine. %s", apart(p.Ahead), meaning), mend)
	}
	if len(wrong) > 0 || len(timed) < 2 {
		return
	}
	if low, high := spread(timed); high.Ahead-low.Ahead > mostApart+unsure(low)+unsure(high) {
		j.find(Warning, "clock-difference", "",
			fmt.Sprintf("the clock of %s is %s that of %s. %s", high.Name, apart(high.Ahead-low.Ahead), low.Name, meaning),
			mend)
	}
}

// unsure is by how much a reading of a place's clock may be wrong.
func unsure(p Place) time.Duration { return max(p.RoundTrip, 0) / 2 }

// spread returns the places whose clocks are furthest behind and ahead.
func spread(all []Place) (low, high Place) {
	if len(all) == 0 {
		return low, high
	}
	byClock := func(a, b Place) int { return cmp.Compare(a.Ahead, b.Ahead) }
	return slices.MinFunc(all, byClock), slices.MaxFunc(all, byClock)
}

func apart(ahead time.Duration) string {
	if ahead < 0 {
		return short(-ahead) + " behind"
	}
	return short(ahead) + " ahead of"
}

// slow finds places that take too long for the ttl: a lease is renewed each third of it.
func (j *assessment) slow() {
	quick := j.enough(func(p Place) bool { return grants(p) && p.RoundTrip <= j.ttl/10 })
	for _, p := range j.places {
		if !p.Votes || p.Err != nil || p.RoundTrip <= j.ttl/10 {
			continue
		}
		severity, limit, consequence := Warning, "a tenth", "a little more, and renewals come too late"
		if p.RoundTrip > j.ttl/3 {
			severity, limit, consequence = Critical, "a third", "renewals come too late, and leases are lost"
		}
		if quick {
			severity, consequence = Warning, "the others do not wait for it"
		}
		j.find(severity, "slow", p.Name,
			fmt.Sprintf("the quickest of its answers took %s, more than %s of the ttl of %s: "+
				"%s", short(p.RoundTrip), limit, short(j.ttl), consequence),
			"bring it closer, find out what keeps it busy, or take a longer ttl")
	}
}

// sorted returns the findings, the worst first, and then in the order of places.
func (j *assessment) sorted() []Finding {
	at := map[string]int{"": -1}
	for i, p := range j.places {
		if _, known := at[p.Name]; !known {
			at[p.Name] = i
		}
	}
	slices.SortStableFunc(j.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(at[a.Place], at[b.Place]), cmp.Compare(a.Code, b.Code))
	})
	return j.findings
}

// short is a duration with as many digits as one wants to read.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
