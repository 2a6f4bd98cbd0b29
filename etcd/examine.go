package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// Examine implements [driver.Operator]. It reports the members of the cluster as servers, by the addresses that the
// engine was given, or else by those that the members advertise. It changes nothing.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	if e.ctx.Err() != nil {
		return driver.Examination{}, errClosed
	}
	x, err := examine(ctx, e.client, e.prefix)
	if err == nil {
		x.Findings = append(x.Findings, e.judgeConnections()...)
		x.Findings = append(x.Findings, e.judgeLogin()...)
		x.Findings = append(x.Findings, exposure.FindReadable(e.secretFiles...)...)
	}
	return x, noEffect(err)
}

// judgeConnections finds connections of the engine's own client on which others can listen.
func (e *Engine) judgeConnections() (found findings) {
	if e.findWeakness == nil {
		return nil
	}
	for _, endpoint := range e.client.Endpoints() {
		weak := e.findWeakness(hostOf(endpoint))
		if weak == nil {
			continue
		}
		severity := driver.Note
		if weak.Exposed {
			severity = driver.Warning
		}
		found.add(severity, weak.Code, hostOf(endpoint), weak.Text, "etcds:// in the URL, and TLS on the members")
	}
	return found
}

// judgeLogin finds a user and password of the engine's own client that the servers do not check.
func (e *Engine) judgeLogin() (found findings) {
	if e.login != nil && e.login.isUnchecked() {
		found.add(driver.Warning, "password-unused", "",
			"there is a user with a password, but the servers do not ask for one: whoever reaches them can take and "+
				"release all locks",
			"etcdctl auth enable, or leave out user and password")
	}
	return found
}

func examine(ctx context.Context, client *clientv3.Client, prefix string) (driver.Examination, error) {
	c, err := examineMembers(ctx, client)
	if err != nil {
		return driver.Examination{}, explain(fmt.Errorf("etcd engine: %w", err))
	}
	defer c.close()
	members := c.namedMembers()
	found := c.judge(members)
	if c.leader() != 0 {
		if err := judgeRights(ctx, &found, c.answered()[0], client.Username, prefix); err != nil {
			return driver.Examination{}, noEffect(explain(err))
		}
	}
	x := driver.Examination{Findings: found}
	for _, named := range members {
		x.Servers = append(x.Servers, named.server)
	}
	return x, nil
}

// maxRoundTime limits each of the two rounds of an examination: the addresses that the engine was given, and those of
// other members.
const maxRoundTime = 2 * time.Second

// roundTrips is how many times the round trip is measured if there is time.
const roundTrips = 5

// unknownLeader stands for a leader that exists although nobody says who it is.
const unknownLeader = ^uint64(0)

// memberReport is what an examination has found out about the server at an address.
type memberReport struct {
	address   string // host:port
	conn      *grpc.ClientConn
	status    *pb.StatusResponse
	members   []*pb.Member // as known to this server
	roundTrip time.Duration
	isHidden  bool  // the server does not show its status to this user
	err       error // why nothing is known
}

// visitMembers examines the servers at all endpoints at the same time, for no longer than limit. The caller closes the
// reports.
func visitMembers(
	ctx context.Context, client *clientv3.Client, endpoints []string, limit time.Duration,
) []*memberReport {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reports := make([]*memberReport, len(endpoints))
	var work sync.WaitGroup
	for i, endpoint := range endpoints {
		work.Go(func() { reports[i] = visitMember(ctx, client, endpoint) })
	}
	work.Wait()
	return reports
}

// visitMember asks one server for its status and for the members of its cluster. It asks only for what the server knows
// by itself, so that there is an answer without a leader, too.
func visitMember(ctx context.Context, client *clientv3.Client, endpoint string) *memberReport {
	rep := &memberReport{address: hostOf(endpoint), roundTrip: -1}
	if rep.conn, rep.err = client.Dial(endpoint); rep.err != nil {
		return rep
	}
	server := pb.NewMaintenanceClient(rep.conn)
	began := time.Now()
	for range roundTrips {
		sent := time.Now()
		if end, limited := ctx.Deadline(); rep.status != nil && limited && sent.Sub(began) > end.Sub(began)/2 {
			break // slow, but alive: leave time to ask for the other members
		}
		s, err := server.Status(ctx, &pb.StatusRequest{})
		if status.Code(err) == codes.PermissionDenied {
			rep.isHidden = true
			break
		}
		if err != nil {
			rep.err = noAnswerError(ctx, err)
			return rep
		}
		if took := time.Since(sent); rep.roundTrip < 0 || took < rep.roundTrip {
			rep.roundTrip = took
		}
		rep.status = s
	}
	sent := time.Now()
	list, err := pb.NewClusterClient(rep.conn).MemberList(ctx, &pb.MemberListRequest{Linearizable: rep.isHidden})
	if err != nil {
		rep.err = noAnswerError(ctx, err)
		return rep
	}
	if rep.members = list.Members; rep.isHidden {
		rep.roundTrip = time.Since(sent)
		// There is a leader, or the server could not have answered.
		rep.status = &pb.StatusResponse{Header: list.Header, Leader: unknownLeader, RaftTerm: list.Header.RaftTerm}
	}
	return rep
}

// close closes the connection.
func (rep *memberReport) close() {
	if rep.conn != nil {
		_ = rep.conn.Close() // nothing is lost
	}
}

// noAnswerError turns the error of a server that has not answered into one of the driver contract.
func noAnswerError(ctx context.Context, err error) error {
	if ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded {
		return driver.ErrSilent
	}
	return errors.New(status.Convert(err).Message())
}

// roundTimeout returns how long each of the two rounds may take, so that there is time left to report the servers that
// have not answered.
func roundTimeout(ctx context.Context) time.Duration {
	if end, limited := ctx.Deadline(); limited {
		return min(maxRoundTime, time.Until(end)*2/5)
	}
	return maxRoundTime
}

// examineMembers examines the members of the cluster. It returns an error if it could not find out anything.
func examineMembers(ctx context.Context, client *clientv3.Client) (*clusterReport, error) {
	limit := roundTimeout(ctx)
	given := client.Endpoints()
	c := &clusterReport{givenAddresses: visitMembers(ctx, client, given, limit)}
	if c.memberList() == nil {
		defer c.close()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var errs []error
		for _, rep := range c.givenAddresses {
			errs = append(errs, fmt.Errorf("%s: %w", rep.address, rep.err))
		}
		return nil, fmt.Errorf("no server tells of its cluster: %w", errors.Join(errs...))
	}
	c.otherMembers = visitMembers(ctx, client, c.unreportedAddresses(given[0]), limit)
	return c, nil
}
