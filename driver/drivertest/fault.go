package drivertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Method is a method of an engine or of one of its optional interfaces.
type Method string

// The methods that [Faulty] passes to its plan.
const (
	Take         Method = "Take"
	TakeAll      Method = "TakeAll"  // one request, whatever the number of names
	Exchange     Method = "Exchange" // one request, with the owner of the take
	Wait         Method = "Wait"
	Renew        Method = "Renew" // asked for each item of a batch
	Release      Method = "Release"
	List         Method = "List"
	Downgrade    Method = "Downgrade"
	ForceRelease Method = "ForceRelease"
	Raise        Method = "Raise"
	Votes        Method = "Votes"
	TrySet       Method = "TrySet"
	CountDown    Method = "CountDown"
	LatchState   Method = "LatchState"
	WaitLatch    Method = "WaitLatch"
	SetData      Method = "SetData"
	Data         Method = "Data"
)

// Op is one request.
type Op struct {
	// Seq numbers the requests from 1, in the order in which they reach the Faulty.
	Seq    uint64
	Method Method
	// Key is the key of the request; for TakeAll that of the first name, for List zero.
	Key driver.Key
	// Owner is the owner; for TakeAll that of the first name, for TrySet and CountDown the ID. It
	// is empty for others.
	Owner string
}

// String names the request without its owner.
func (o Op) String() string {
	return fmt.Sprintf("#%d %s %s %q", o.Seq, o.Method, o.Key.Kind, o.Key.Name)
}

// Fault is what happens to one request and its reply, in the order of the fields. The zero Fault
// does nothing. A request whose ctx has ended before it is sent meets no fault.
type Fault struct {
	// Hang stops the request until [Faulty.Resume]. It then arrives even if the caller's ctx has
	// ended meanwhile.
	Hang bool

	// Before delays the request. It arrives even if the caller's ctx has ended meanwhile.
	Before time.Duration

	// FailBefore makes the request fail with [ErrFault] and without effect. The error does not say
	// so: the outcome is unknown.
	FailBefore bool

	// After delays the reply.
	After time.Duration

	// Drop loses the reply. The call returns when its ctx ends, with the error of ctx.
	Drop bool

	// Break loses the reply as a broken connection does: the call returns
	// [ErrFault] instead.
	Break bool
}

// ErrFault is the error of a request that a [Fault] has hit. It does not say whether the request
// had an effect.
var ErrFault = errors.New("drivertest: fault on purpose")
