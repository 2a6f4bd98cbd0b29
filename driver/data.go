package driver

import "context"

// MaxDataSize is the largest size of Data.Value, in bytes.
const MaxDataSize = 16 << 10

// DataKeeper is implemented by an engine that stores data under the names of locks.
//
// Data outlives the lease under which it was stored, and is stored as safely as the engine's tokens. An engine never
// forgets it by itself.
type DataKeeper interface {
	// SetData stores data under the name of a lock that the owner holds exclusively. It answers ErrNotHeld, and has
	// changed nothing, if the owner does not hold it. The check and the change are one step. So what arrives late, when
	// somebody else may have been granted the lock, changes nothing. The same goes for older data of the same owner:
	// what is stored is replaced as [Data.Replaces] says. The kind of the hold is Lock.
	SetData(ctx context.Context, s DataSet) error

	// Data answers with the data of a lock, held or not, or with the zero Data if none was stored. It sees every
	// SetData that was answered before it was called, and those of every owner that has released before.
	Data(ctx context.Context, name string) (Data, error)
}

// Data is what is stored under the name of a lock.
type Data struct {
	// Value is at most MaxDataSize bytes. An empty Value says that the data was removed. Of it an engine may keep the
	// rest, or nothing.
	Value []byte
	// Token is the token of the lease under which the data was stored. It is one of the tokens of the grant.
	Token uint64
	// Number counts what was stored under the grant, beginning with 1.
	Number uint64
}

// Replaces reports whether d is to be stored in the place of what is stored now. If it is older, and another lease has
// stored the data, the error is ErrNotHeld. If it is older than what the same lease has stored, or the same, the answer
// is nil: the request was repeated, or has been overtaken by a later one.
func (d Data) Replaces(stored Data) (bool, error) {
	switch {
	case d.Token < stored.Token:
		return false, ErrNotHeld
	case d.Token == stored.Token && d.Number <= stored.Number:
		return false, nil
	}
	return true, nil
}

// DataSet is what [DataKeeper.SetData] is given.
type DataSet struct {
	Hold Hold
	Data Data
}
