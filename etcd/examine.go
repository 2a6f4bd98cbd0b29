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
)

var _ driver.Examiner = (*Engine)(nil)

// Examine implements [driver.Examiner]. Places are the members of the cluster, at the addresses that the engine was given, or else at those that they
// advertise. It changes nothing.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	if e.life.Err() != nil {
		return driver.Examination{}, errClosed
	}
	x, err := examine(ctx, e.client, e.prefix)
	if err == nil {
		x.Findings = append(x.Findings, e.judgeWires()...)
	}
	return x, noEffect(err)
}

// judgeWires finds connections of the engine's own client that others can listen to.
func (e *Engine) judgeWires() (found findings) {
	if e.weak == nil {
		return nil
	}
	for _, endpoint := range e.client.Endpoints() {
		weak := e.weak(hostOf(endpoint))
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

func examine(ctx context.Context, client *clientv3.Client, prefix string) (driver.Examination, error) {
	s, err := survey(ctx, client)
	if err != nil {
		return driver.Examination{}, explain(fmt.Errorf("etcd engine: %w", err))
	}
	defer s.close()
	places := s.places()
	found := s.judge(places)
	if s.leader() != 0 {
		if err := judgeRights(ctx, &found, s.answered()[0], client.Username, prefix); err != nil {
			return driver.Examination{}, noEffect(explain(err))
		}
	}
	x := driver.Examination{Findings: found}
	for _, n := range places {
		x.Places = append(x.Places, n.place)
	}
	return x, nil
}

// examining is for how long an examination waits for servers, in each of its two rounds: the addresses that the engine was given, and those of other members.
const examining = 2 * time.Second

// trips is how many times the round trip is measured, if there is time.
const trips = 5

// someLeader stands for a leader of whom nobody tells who it is.
const someLeader = ^uint64(0)

// visit is what was seen of a server at an address.
type visit struct {
	address string // host:port
	conn    *grpc.ClientConn
	status  *pb.StatusResponse
	members []*pb.Member // as this server knows them
	trip    time.Duration
	hidden  bool  // it does not show the user what it is
	err     error // why nothing is known
}

// visitAll looks at servers at the same time, for no longer than limit. Their connections are to be closed.
func visitAll(ctx context.Context, client *clientv3.Client, endpoints []string, limit time.Duration) []*visit {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	all := make([]*visit, len(endpoints))
	var work sync.WaitGroup
	for i, endpoint := range endpoints {
		work.Go(func() { all[i] = look(ctx, client, endpoint) })
	}
	work.Wait()
	return all
}

// look asks one server what it is, and who else is in its cluster. It asks the server what it knows by itself, so that there is an answer without a
// leader, too.
func look(ctx context.Context, client *clientv3.Client, endpoint string) *visit {
	v := &visit{address: hostOf(endpoint), trip: -1}
	if v.conn, v.err = client.Dial(endpoint); v.err != nil {
		return v
	}
	server := pb.NewMaintenanceClient(v.conn)
	began := time.Now()
	for range trips {
		sent := time.Now()
		if end, limited := ctx.Deadline(); v.status != nil && limited && sent.Sub(began) > end.Sub(began)/2 {
			break // it has answered, if slowly, and is to say who else there is
		}
		s, err := server.Status(ctx, &pb.StatusRequest{})
		if status.Code(err) == codes.PermissionDenied {
			v.hidden = true
			break
		}
		if err != nil {
			v.err = silence(ctx, err)
			return v
		}
		if took := time.Since(sent); v.trip < 0 || took < v.trip {
			v.trip = took
		}
		v.status = s
	}
	sent := time.Now()
	list, err := pb.NewClusterClient(v.conn).MemberList(ctx, &pb.MemberListRequest{Linearizable: v.hidden})
	if err != nil {
		v.err = silence(ctx, err)
		return v
	}
	if v.members = list.Members; v.hidden {
		v.trip = time.Since(sent)
		v.status = &pb.StatusResponse{Header: list.Header, Leader: someLeader, RaftTerm: list.Header.RaftTerm} // who has let it answer
	}
	return v
}

// close ends the connection.
func (v *visit) close() {
	if v.conn != nil {
		_ = v.conn.Close() // nothing was to be kept
	}
}

// silence is the error of a server that has not answered, as the contract has it.
func silence(ctx context.Context, err error) error {
	if ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded {
		return driver.ErrSilent
	}
	return errors.New(status.Convert(err).Message())
}

// rounds returns for how long each of the two rounds may take, so that there is time left to tell of servers that have not answered.
func rounds(ctx context.Context) time.Duration {
	if end, limited := ctx.Deadline(); limited {
		return min(examining, time.Until(end)*2/5)
	}
	return examining
}

// survey looks at the members of the cluster. An error means that nothing could be found out at all.
func survey(ctx context.Context, client *clientv3.Client) (*sight, error) {
	limit := rounds(ctx)
	given := client.Endpoints()
	s := &sight{given: visitAll(ctx, client, given, limit)}
	if s.list() == nil {
		defer s.close()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var errs []error
		for _, v := range s.given {
			errs = append(errs, fmt.Errorf("%s: %w", v.address, v.err))
		}
		return nil, fmt.Errorf("no server tells of its cluster: %w", errors.Join(errs...))
	}
	s.other = visitAll(ctx, client, s.unseen(given[0]), limit)
	return s, nil
}
