package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// judgeRights finds rights that the user lacks on the engine's keys. It asks one server; without a leader there is no
// answer. The error says that the cluster does not accept the user.
func judgeRights(ctx context.Context, f *findings, rep *memberReport, user, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, maxRoundTime)
	defer cancel()
	locks, semaphores := prefix+driver.Lock.String()+"/", prefix+driver.Semaphore.String()+"/"
	sessions := prefix + sessionPrefix
	m, err := findMissing(ctx, rep, locks, semaphores, sessions)
	if err != nil {
		return err
	}
	if len(m.lacks) == 0 {
		return judgeDataRights(ctx, f, rep, prefix+dataPrefix)
	}
	lacks, what, fix := m.lacks, m.what(), m.fix()
	reads := !lacks["read"+locks] && !lacks["read"+semaphores]
	writes := !lacks["write"+locks] && !lacks["write"+semaphores]
	noWrites := lacks["write"+locks] && lacks["write"+semaphores] && lacks["write"+sessions]
	const meant = ". That is fine if it is intended"
	switch {
	case reads && noWrites:
		f.add(driver.Note, "rights-look", "", "the user can list locks, but cannot take any"+meant, fix)
		return nil
	case reads && writes:
		f.add(driver.Note, "rights-look", "",
			"the user can list locks and release them by force, but cannot take any"+meant, fix)
		return nil
	case lacks["read"+sessions], lacks["write"+sessions]:
		f.add(driver.Critical, "rights", "", what+": no lock can be granted", fix)
		return nil
	}
	some, err := mayUseSome(ctx, rep, user, locks, semaphores)
	switch {
	case err != nil:
		f.add(driver.Warning, "rights", "", what+" and names below it. It is not known whether it may "+
			"do so for some of them: no lock can be granted for the others", fix)
	case some:
		f.add(driver.Note, "rights-names", "",
			what+" and names below it. That is fine if the user is meant for some names only", fix)
	default:
		f.add(driver.Critical, "rights", "", what+": no lock can be granted", fix)
	}
	return nil
}

// judgeDataRights does the same for the data of locks, once the user may use the locks.
func judgeDataRights(ctx context.Context, f *findings, rep *memberReport, keyPrefix string) error {
	m, err := findMissing(ctx, rep, keyPrefix)
	if err != nil || len(m.lacks) == 0 {
		return err
	}
	f.add(driver.Note, "rights-data", "",
		m.what()+": locks work, but their data does not, which runs once per tick need",
		"nothing, if nobody uses it; or "+m.fix())
	return nil
}

// missing is what a user may not do.
type missing struct {
	lacks         map[string]bool // "read" or "write", and the prefix of the keys
	rights, grant []string        // in words, and the commands that give them
}

func (m missing) what() string { return "the user may not " + strings.Join(m.rights, ", nor ") }

func (m missing) fix() string {
	return strings.Join(m.grant, ", and ") + ", and etcdctl user grant-role USER ROLE"
}

// findMissing asks a server which rights the user lacks on all keys with these prefixes.
func findMissing(ctx context.Context, rep *memberReport, keyPrefixes ...string) (missing, error) {
	m := missing{lacks: map[string]bool{}}
	for _, keyPrefix := range keyPrefixes {
		for _, right := range []struct {
			name string
			ask  []*pb.RequestOp
		}{
			{"read", []*pb.RequestOp{opReadPrefix(keyPrefix)}},
			{"write", []*pb.RequestOp{opWrite(keyPrefix), opWrite(keyPrefix + "\xff")}},
		} {
			switch err := rpctypes.Error(probe(ctx, rep, right.ask)); {
			case errors.Is(err, rpctypes.ErrPermissionDenied):
				m.lacks[right.name+keyPrefix] = true
				m.rights = append(m.rights, fmt.Sprintf("%s %q", right.name, keyPrefix))
				const grant = "etcdctl role grant-permission ROLE --prefix=true %s %q"
				m.grant = append(m.grant, fmt.Sprintf(grant, right.name, keyPrefix))
			case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrAuthFailed),
				errors.Is(err, rpctypes.ErrInvalidAuthToken):
				return m, err
			}
		}
	}
	return m, nil
}

// probe asks for operations that are never done: they stand in the branch of a transaction that is not taken. The
// server checks the rights all the same.
func probe(ctx context.Context, rep *memberReport, never []*pb.RequestOp) error {
	_, err := pb.NewKVClient(rep.conn).Txn(ctx, &pb.TxnRequest{Failure: never})
	return err
}

func opReadPrefix(prefix string) *pb.RequestOp {
	end := clientv3.GetPrefixRangeEnd(prefix)
	all := &pb.RangeRequest{Key: []byte(prefix), RangeEnd: []byte(end), Limit: 1, KeysOnly: true}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: all}}
}

func opWrite(key string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key)}}}
}

// mayUseSome reports whether the user may both read and write at least some keys with one of the prefixes. Every user
// may look up itself and its roles.
func mayUseSome(ctx context.Context, rep *memberReport, user string, prefixes ...string) (bool, error) {
	if user == "" {
		return false, errors.New("the user is not known by name")
	}
	server := pb.NewAuthClient(rep.conn)
	u, err := server.UserGet(ctx, &pb.AuthUserGetRequest{Name: user})
	if err != nil {
		return false, err
	}
	reads, writes := make([]bool, len(prefixes)), make([]bool, len(prefixes))
	for _, role := range u.Roles {
		r, err := server.RoleGet(ctx, &pb.AuthRoleGetRequest{Role: role})
		if err != nil {
			return false, err
		}
		for _, p := range r.Perm {
			for i, prefix := range prefixes {
				if overlaps(p, prefix) {
					reads[i] = reads[i] || p.PermType != authpb.Permission_WRITE
					writes[i] = writes[i] || p.PermType != authpb.Permission_READ
				}
			}
		}
	}
	for i := range prefixes {
		if reads[i] && writes[i] {
			return true, nil
		}
	}
	return false, nil
}

// overlaps reports whether a permission covers any key with the prefix.
func overlaps(p *authpb.Permission, prefix string) bool {
	end := clientv3.GetPrefixRangeEnd(prefix)
	switch from, to := string(p.Key), string(p.RangeEnd); to {
	case "": // one key
		return strings.HasPrefix(from, prefix)
	case "\x00": // all keys from this one on
		return from < end
	default:
		return from < end && to > prefix
	}
}
