package leaseholdprometheus

import (
	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/reason"
)

// ObserveWait implements leasehold.WaitObserver.
func (m *Metrics) ObserveWait(e leasehold.Waiting) {
	if !e.Again {
		m.resourceOf(e.Label).waiters.Inc()
	}
}

// ObserveGrant implements leasehold.GrantObserver.
func (m *Metrics) ObserveGrant(e leasehold.Granted) {
	r := m.resourceOf(e.Label)
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
	r := m.resourceOf(e.Label)
	if e.AfterWait {
		r.waiters.Dec()
		// Without the calls that failed, nobody would seem to wait long for a lock that nobody gets.
		r.wait.Observe(e.Waited.Seconds())
	}
	r.failures[reason.Of(e.Err)].Inc()
}

// ObserveRenew implements leasehold.RenewObserver.
func (m *Metrics) ObserveRenew(e leasehold.Renewed) {
	r := m.resourceOf(e.Label)
	o := reason.OutcomeOf(e.Err)
	r.renewals[o].Inc()
	if o != reason.Lost { // nothing is left of a lease that has ended
		r.slack.Observe(e.Slack.Seconds())
	}
}

// ObserveDanger implements leasehold.DangerObserver.
func (m *Metrics) ObserveDanger(e leasehold.InDanger) { m.resourceOf(e.Label).danger.Inc() }

// ObserveLost implements leasehold.LostObserver.
func (m *Metrics) ObserveLost(e leasehold.Lost) {
	r := m.resourceOf(e.Label)
	r.held.Dec()
	r.hold.Observe(e.Held.Seconds())
	m.loss(r, e.How).Inc()
}

// ObserveRelease implements leasehold.ReleaseObserver.
func (m *Metrics) ObserveRelease(e leasehold.Released) {
	r := m.resourceOf(e.Label)
	r.held.Dec()
	r.hold.Observe(e.Held.Seconds())
	r.releases[reason.OutcomeOf(e.Err)].Inc()
}
