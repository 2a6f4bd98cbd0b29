package etcd

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Comparisons of a transaction.

// createdAt compares: a key was created at a revision; 0 if it is not there.
func createdAt(path string, revision int64) *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_EQUAL, Target: pb.Compare_CREATE, Key: []byte(path),
		TargetUnion: &pb.Compare_CreateRevision{CreateRevision: revision},
	}
}

// noneAfter compares: no key in a range was created after a revision; with 0, there is none.
func (s span) noneAfter(revision int64) *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_LESS, Target: pb.Compare_CREATE, Key: []byte(s.from), RangeEnd: []byte(s.to),
		TargetUnion: &pb.Compare_CreateRevision{CreateRevision: revision + 1},
	}
}

// unchanged compares: a place is as it was read.
func (p place) unchanged() *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_EQUAL, Target: pb.Compare_MOD, Key: []byte(p.path),
		TargetUnion: &pb.Compare_ModRevision{ModRevision: p.modified},
	}
}

// onLease compares: a key is on a lease of etcd.
func onLease(path string, id clientv3.LeaseID) *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_EQUAL, Target: pb.Compare_LEASE, Key: []byte(path), TargetUnion: &pb.Compare_Lease{Lease: int64(id)},
	}
}

// exists compares: a key is there.
func exists(path string) *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_GREATER, Target: pb.Compare_CREATE, Key: []byte(path), TargetUnion: &pb.Compare_CreateRevision{},
	}
}

// allShared compares: there are places, and all are shared.
func (s span) allShared() *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_GREATER, Target: pb.Compare_VALUE, Key: []byte(s.from), RangeEnd: []byte(s.to),
		TargetUnion: &pb.Compare_Value{Value: []byte(sharedAbove)},
	}
}

// all is a list of comparisons, which must all be true.
func all(cmps ...*pb.Compare) []*pb.Compare { return cmps }
