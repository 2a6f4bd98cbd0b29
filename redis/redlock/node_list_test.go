package redlock

import "testing"

// A list may be changed unless the servers of an old list that are not named are a majority of it. A hash
// that is left from an interrupted change says that this was checked, for the list to which it leads.
func TestWhenAListMayBeChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before []string
		may    bool
	}{
		{"new servers", []string{"-", "-", "-"}, true},
		{"one of three is exchanged", []string{"3-old", "3-old", "-"}, true},
		{"two of three are exchanged", []string{"3-old", "-", "-"}, false},
		{"interrupted in the first step", []string{"3-old?3-new", "3-old", "-"}, true},
		{
			"the same, and the new server was put into the new list by a program",
			[]string{"3-old?3-new", "3-old", "3-new"}, true,
		},
		{"interrupted in the second step", []string{"3-old?3-new", "3-new", "3-new"}, true},
		{"on the way to yet another list", []string{"3-old?3-other", "3-new", "3-new"}, false},
		{
			"one is on its way, and too few of another old list are named",
			[]string{"3-old?3-new", "3-other", "3-new"}, false,
		},
		{"all have arrived", []string{"3-new", "3-new", "3-new"}, true},
	} {
		l := &nodeList{size: 3, ownHash: "3-new"}
		if err := l.checkOldMajority(c.before); (err == nil) != c.may {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
