package leaseholdprometheus

import "github.com/leasehold-go/leasehold"

// ObserveWait implements leasehold.WaitObserver.
func (m *Metrics) ObserveWait(e leasehold.Waiting) {
	if !e.Again {
		m.of(e.Label).waiters.Inc()
	}
}

// ObserveGrant implements leasehold.GrantObserver.
func (m *Metrics) ObserveGrant(e leasehold.Granted) {
	r := m.of(e.Label)
	if e.AfterWait {
		r.waiters.Dec()
	}
	r.wait.Observe(e.Waited.Seconds())
	r.held.Inc()
	if e.HandedOver {
		r.process.Inc()
	} else {
		r.engine.Inc()
	}
}

// ObserveFail implements leasehold.FailObserver.
func (m *Metrics) ObserveFail(e leasehold.Failed) {
	r := m.of(e.Label)
	if e.AfterWait {
		r.waiters.Dec()
		// If only those counted who got something, nobody would seem to wait long for what nobody gets.
		r.wait.Observe(e.Waited.Seconds())
	}
	r.failures[reasonOf(e.Err)].Inc()
}

// ObserveRenew implements leasehold.RenewObserver.
func (m *Metrics) ObserveRenew(e leasehold.Renewed) {
	r := m.of(e.Label)
	o := outcomeOf(e.Err)
	r.renewals[o].Inc()
	if o != gone { // of a lease that is over nothing is left
		r.slack.Observe(e.Slack.Seconds())
	}
}

// ObserveDanger implements leasehold.DangerObserver.
func (m *Metrics) ObserveDanger(e leasehold.InDanger) { m.of(e.Label).danger.Inc() }

// ObserveLost implements leasehold.LostObserver.
func (m *Metrics) ObserveLost(e leasehold.Lost) {
	r := m.of(e.Label)
	r.held.Dec()
	r.hold.Observe(e.Held.Seconds())
	m.loss(r, e.How).Inc()
}

// ObserveRelease implements leasehold.ReleaseObserver.
func (m *Metrics) ObserveRelease(e leasehold.Released) {
	r := m.of(e.Label)
	r.held.Dec()
	r.hold.Observe(e.Held.Seconds())
	r.releases[outcomeOf(e.Err)].Inc()
}
