package health

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// Replica is what a master says of a replica. See https://redis.io/docs/latest/commands/info/.
type Replica struct {
	Address, State string
	Lag            time.Duration // since its last message; negative if there was none
}

// maxReplicaSilence is how long a replica may be silent. A healthy replica reports its offset once a second.
const maxReplicaSilence = 10 * time.Second

// Replicas returns what a master says of its replicas.
func (r Report) Replicas() (all []Replica) {
	for i := 0; ; i++ {
		line, found := r.Info["slave"+strconv.Itoa(i)]
		if !found {
			return all
		}
		said := map[string]string{}
		for pair := range strings.SplitSeq(line, ",") {
			field, value, _ := strings.Cut(pair, "=")
			said[field] = value
		}
		seconds, err := strconv.Atoi(said["lag"])
		if err != nil {
			seconds = -1
		}
		all = append(all, Replica{
			Address: net.JoinHostPort(said["ip"], said["port"]),
			State:   said["state"],
			Lag:     time.Duration(seconds) * time.Second,
		})
	}
}

// JudgeConfirming finds that fewer replicas are healthy than must confirm each lock.
func (f *Findings) JudgeConfirming(need, healthy int) {
	if need > healthy {
		f.Add(driver.Critical, "too-few-replicas",
			fmt.Sprintf("%d replicas must confirm each lock, and %d can: no lock can be granted", need, healthy),
			"start replicas, or ask for fewer")
	}
}

// JudgeReplicas finds replicas to which a failover loses more than necessary, and returns how many of all are healthy.
func (r Report) JudgeReplicas(f *Findings) (healthy, all int) {
	following := r.Replicas()
	for _, replica := range following {
		switch {
		case replica.State != "online":
			f.Add(driver.Warning, "replica-down",
				fmt.Sprintf("its replica %s is out of sync (%s): a failover to it loses more than necessary, "+
					"or is impossible", replica.Address, replica.State),
				"look at the replica's log, and at repl-backlog-size")
		case replica.Lag > maxReplicaSilence:
			f.Add(driver.Warning, "replica-lag",
				fmt.Sprintf("its replica %s last reported %s ago: a failover to it loses all locks since then",
					replica.Address, replica.Lag),
				"look at the replica, and at the network between them")
		default:
			healthy++
		}
	}
	return healthy, len(following)
}

// Duration returns a setting as a duration, counted in the given unit.
func (r Report) Duration(setting string, unit time.Duration) time.Duration {
	n, err := strconv.Atoi(r.Config[setting])
	if err != nil {
		return 0
	}
	return time.Duration(n) * unit
}

// JudgeMinReplicas finds a master, of no Cluster, that goes on when it is cut off from its replicas. Else it returns
// after how long it stops.
func (r Report) JudgeMinReplicas(f *Findings, client redis.UniversalClient) (stops time.Duration) {
	stops = r.Duration("min-replicas-max-lag", time.Second)
	if r.Duration("min-replicas-to-write", 1) > 0 && stops > 0 {
		return stops
	}
	severity, who := driver.Note, "If somebody or something promotes a replica while this master is only cut off, "
	if usesSentinels(client) {
		severity, who = driver.Warning, "If Sentinels promote a replica while this master is only cut off, "
	}
	f.Add(severity, "min-replicas",
		"min-replicas-to-write is 0. "+who+"both grant the same locks",
		"CONFIG SET min-replicas-to-write 1, min-replicas-max-lag 10, on all servers and in redis.conf")
	return 0
}

// FailoverAddress is what go-redis has as address if Sentinels know the real one.
const FailoverAddress = "FailoverClient"

// usesSentinels reports whether a client asks Sentinels for the master.
func usesSentinels(client redis.UniversalClient) bool {
	c, ok := client.(*redis.Client)
	return ok && c.Options().Addr == FailoverAddress
}

// ErrReplicasUnreachable is why replicas are not asked on a client that the engine did not make.
var ErrReplicasUnreachable = errors.New("the program gave its own client, which leads to masters only")

// Asked is a server, or replica, of which an examination wants to know everything.
type Asked struct {
	Server driver.Server
	Err    error // why only its master was asked about this replica
}

// JudgeTogether finds what concerns all servers together, and replicas that could not be asked.
func JudgeTogether(all []Asked) []driver.Finding {
	f := &Findings{}
	unlooked := 0
	var versions []string
	for _, a := range all {
		if version := a.Server.Version; version != "" && !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
		switch {
		case a.Err == nil:
		case errors.Is(a.Err, ErrReplicasUnreachable):
			unlooked++
		case isUserRefused(a.Err):
			f.Server = a.Server.Name
			f.Add(driver.Warning, "replica-rights",
				fmt.Sprintf("the replica does not let the user in: no lock can be granted once it is promoted "+
					"(users are not copied from the master): %s", a.Err),
				"create the user there with the same password and rights")
		default:
			f.Server = a.Server.Name
			f.Add(driver.Note, "replica-not-looked-at",
				fmt.Sprintf("the replica could not be reached from here, so its settings were not "+
					"checked: %s", a.Err),
				"look at its maxmemory-policy and its users: they count once it is promoted")
		}
	}
	f.Server = ""
	if unlooked > 0 {
		f.Add(driver.Note, "replica-not-looked-at",
			fmt.Sprintf("the settings of %d replicas were not checked: %s", unlooked, ErrReplicasUnreachable),
			"use the engine's Open or leasehold doctor, or look at their maxmemory-policy and users")
	}
	if len(versions) > 1 {
		f.Add(driver.Note, "different-versions",
			"the servers have different versions: "+strings.Join(versions, ", "),
			"nothing, or update all to the same")
	}
	return f.All
}

// isUserRefused reports whether a server does not accept the user or the password.
func isUserRefused(err error) bool {
	return redis.HasErrorPrefix(err, "WRONGPASS") ||
		redis.HasErrorPrefix(err, "NOAUTH") || redis.HasErrorPrefix(err, "NOPERM")
}

// slots is how many slots a Cluster has.
const slots = 16384

// JudgeCoverage finds slots of a Cluster that no master has.
func JudgeCoverage(covered int) []driver.Finding {
	if covered >= slots {
		return nil
	}
	return []driver.Finding{{Severity: driver.Critical, Code: "cluster-not-covered",
		Text: fmt.Sprintf("%d of the %d slots of the Cluster are kept by no master: "+
			"locks whose names are there cannot be granted, and with "+
			"cluster-require-full-coverage none at all", slots-covered, slots),
		Fix: "give the slots to masters: redis-cli --cluster fix"}}
}
