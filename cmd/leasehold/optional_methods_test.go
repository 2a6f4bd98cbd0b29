//go:build unix

package main

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/driver"
)

// optionalMethods are the methods of driver.Operator that each engine has, and its other optional interfaces. An engine
// that forgets a method of Operator compiles, since driver.Unsupported has it. Here it shows, as does a new method.
var optionalMethods = map[string]string{
	"memory":    "ForceRelease Record Records Latcher AllTaker Wanter",
	"sqlite":    "Examine ForceRelease Leaks Record Records Sweep Latcher",
	"redis":     "Examine ForceRelease GrantsClosed Leaks Record Records Sweep Walk Latcher AllTaker Router Wanter",
	"redlock":   "Examine ForceRelease GrantsClosed Leaks Record Records Sweep Votes Walk Wanter",
	"redisson":  "Examine ForceRelease Leaks Sweep Walk Latcher",
	"postgres":  "Examine ForceRelease GrantsClosed Leaks Record Records Sweep Latcher AllTaker Wanter",
	"etcd":      "Examine ForceRelease AllTaker",
	"zookeeper": "Examine ForceRelease Leaks Sweep",
}

// checkOptionalMethods compares the methods of an engine with that table. The engine is asked with a context that has
// ended, so nothing is changed: what it has fails with another error than driver.ErrUnsupported, or does nothing.
func checkOptionalMethods(t *testing.T, url string) {
	t.Helper()
	e, shut, err := engine.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer shut()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var has []string
	operator := reflect.TypeFor[driver.Operator]()
	for i := range operator.NumMethod() {
		method := operator.Method(i).Name
		if !errors.Is(callEmpty(ended, driver.OperatorOf(e), method), driver.ErrUnsupported) {
			has = append(has, method)
		}
	}
	for _, optional := range []reflect.Type{reflect.TypeFor[driver.Latcher](), reflect.TypeFor[driver.AllTaker](),
		reflect.TypeFor[driver.Router](), reflect.TypeFor[driver.Wanter]()} {
		if reflect.TypeOf(e).Implements(optional) {
			has = append(has, optional.Name())
		}
	}
	name := e.Abilities().Name
	if want, known := optionalMethods[name]; !known || !slices.Equal(has, strings.Fields(want)) {
		t.Errorf("%s has the optional methods\n\t%s, want\n\t%s", name, strings.Join(has, " "), want)
	}
	if err := e.Downgrade(ended, driver.Hold{}); errors.Is(err, driver.ErrUnsupported) == e.Abilities().Shared {
		t.Errorf("%s has read-write locks: %v, and Downgrade answers %v", name, e.Abilities().Shared, err)
	}
	for _, pair := range [][2]string{{"Record", "Records"}, {"Leaks", "Sweep"}} {
		if slices.Contains(has, pair[0]) != slices.Contains(has, pair[1]) {
			t.Errorf("%s has one of %v only", name, pair)
		}
	}
	if slices.Contains(has, "Walk") != e.Abilities().Walk {
		t.Errorf("%s has Walk: %v, and its abilities say %v", name, !e.Abilities().Walk, e.Abilities().Walk)
	}
}

// callEmpty calls a method with a context and empty arguments, and returns its error if it has one.
func callEmpty(ctx context.Context, o driver.Operator, method string) error {
	f := reflect.ValueOf(o).MethodByName(method)
	args := make([]reflect.Value, f.Type().NumIn())
	for i := range args {
		switch in := f.Type().In(i); {
		case in == reflect.TypeFor[context.Context]():
			args[i] = reflect.ValueOf(ctx)
		case in.Kind() == reflect.Func: // it takes one piece, and wants no more
			args[i] = reflect.MakeFunc(in, func([]reflect.Value) []reflect.Value {
				return []reflect.Value{reflect.ValueOf(false)}
			})
		default:
			args[i] = reflect.Zero(in)
		}
	}
	out := f.Call(args)
	err, _ := out[len(out)-1].Interface().(error)
	return err
}
