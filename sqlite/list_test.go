package sqlite

import (
	"fmt"
	"slices"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

func TestPagesOfAListing(t *testing.T) {
	t.Parallel()
	e := openFile(t, newPath(t))
	var want []driver.Key
	for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore} {
		for i := range 10 {
			r := lock(fmt.Sprint("näme\n{", i))
			r.Kind = kind
			mustTake(t, e, r)
			want = append(want, r.Key)
		}
	}
	var got []driver.Key
	q := driver.Query{Limit: 3}
	for {
		page, err := e.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, st := range page {
			got = append(got, st.Key)
		}
		q.After = got[len(got)-1]
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages contain %v, want %v", got, want)
	}
}

func TestForceReleaseByAnyTokenOfTheRange(t *testing.T) {
	t.Parallel()
	e := openFile(t, newPath(t))
	r := lock("a")
	r.Tokens = 10
	g := mustTake(t, e, r)
	if err := e.ForceRelease(t.Context(), r.Key, g.Token+10); err != driver.ErrNotHeld {
		t.Errorf("ForceRelease behind the range: %v, want ErrNotHeld", err)
	}
	if err := e.ForceRelease(t.Context(), r.Key, ^uint64(0)); err != driver.ErrNotHeld {
		t.Errorf("ForceRelease with a token that is none: %v, want ErrNotHeld", err)
	}
	if err := e.ForceRelease(t.Context(), r.Key, g.Token+9); err != nil {
		t.Errorf("ForceRelease with the last token: %v", err)
	}
}
