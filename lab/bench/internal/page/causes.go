package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// cause says why workloads are short of a target, if they are.
type cause struct {
	workloads []string
	text      string
}

// causes has what is known. What is short on one machine need not be on another.
var causes = []cause{
	{[]string{"free", "ending", "five"},
		"The scripts also keep tokens, and the client checks and schedules each lease: 2 and 3 µs of a pair, or more " +
			"where processors are slow ([decision 87](decisions/0087-a-cancelled-context-interrupts-the-client.md))."},
	{[]string{"many"},
		"A pair changes two keys, that of the lock and that of its token. One of redislock changes one."},
	{[]string{"burst"},
		"Leasehold serves in order, which wakes a process for each turn; rueidislock mostly stays in one."},
	{[]string{"turns-one", "turns-many", "turns-held"},
		"Others grant to the same client again and again, which needs neither a message nor another process. A fair " +
			"turn has three answers of the server instead of two " +
			"([decision 87](decisions/0087-a-cancelled-context-interrupts-the-client.md))."},
	{[]string{"free-later"},
		"One request instead of two; but its script does what both would, and the floor keeps no tokens."},
	{[]string{"sticky"},
		"A name that is recalled and recalled back costs about twenty requests and messages. With one such turn in a " +
			"hundred, others need ten times as many: about ten is the most that there is."},
	{[]string{"million"},
		"The processor time is that of the machine. Beside busy processes a client gets too little of it to renew " +
			"all: it renews what it can, and loses the rest. It also tells of losses late, as a cycle of Go's " +
			"collector over so many leases then takes seconds. `Lease.Err` and `Lease.Deadline` are right at any " +
			"time, and nobody else was granted a lock that its holder still had: see the rows " +
			"([decision 95](decisions/0095-renewals-in-flight-are-limited.md))."},
	{[]string{"five-crowd", "five-turns-one", "five-turns-held"},
		"A turn crosses the network four times one way: to the nodes and back, to one of them, and to the waiter " +
			"([decision 85](decisions/0085-a-holder-passes-the-name-to-the-first-waiter.md))."},
	{[]string{"postgres", "postgres-turns-one", "postgres-turns-many", "postgres-turns-held"},
		"An advisory lock belongs to a connection that is kept for it: it writes nothing, and has neither a lease " +
			"nor a token. A lease is a row, each change of it is a transaction, and each hand-over a `NOTIFY`, which " +
			"wakes all that listen ([decision 82](decisions/0082-postgres-has-a-short-way-through-a-queue.md))."},
	{[]string{"etcd", "etcd-many"},
		"Both send two transactions for a pair, which the server syncs to its disk; what differs is a few percent " +
			"([decision 86](decisions/0086-what-a-turn-on-etcd-sends.md))."},
	{[]string{"zookeeper", "zookeeper-many"},
		"Both send about the same requests, which the server syncs to its disk; runs differ by more than " +
			"the libraries."},
}

// reasons lists the causes of targets that are short.
func reasons(b *strings.Builder, verdicts []work.Verdict) {
	var short []string
	for _, v := range verdicts {
		if !v.Pass && !slices.Contains(short, v.Workload) {
			short = append(short, v.Workload)
		}
	}
	var lines []string
	for _, c := range causes {
		var links []string
		for _, w := range c.workloads {
			if slices.Contains(short, w) {
				links = append(links, fmt.Sprintf("[%[1]s](#%[1]s)", w))
			}
		}
		if len(links) > 0 {
			lines = append(lines, fmt.Sprintf("- %s: %s\n", strings.Join(links, ", "), c.text))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\nWhy some are short:\n\n%s", strings.Join(lines, ""))
	}
}
