package simulator

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
)

// value is what is kept under a key: a text, unless it is one of the others.
type value struct {
	text string
	hash map[string]string
	zset map[string]float64
	end  int64 // ms by the clock of the server; 0: never
}

func (v *value) clone() *value {
	return &value{v.text, maps.Clone(v.hash), maps.Clone(v.zset), v.end}
}

// member is one of a sorted set.
type member struct {
	name  string
	score float64
}

// sorted are the members of a set in their order.
func (v *value) sorted() (all []member) {
	if v == nil {
		return nil
	}
	for name, score := range v.zset {
		all = append(all, member{name, score})
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name)) })
	return all
}

// told is how members are answered.
func told(all []member, scores bool) (answer []any) {
	for _, m := range all {
		answer = append(answer, m.name)
		if scores {
			answer = append(answer, number(m.score))
		}
	}
	return answer
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// part is from one position to another, counted from the end if negative.
func part(all []member, from, to string) []member {
	at := func(s string) int {
		n := integer(s)
		if n < 0 {
			n += int64(len(all))
		}
		return int(n)
	}
	first, last := max(at(from), 0), min(at(to), len(all)-1)
	if first > last {
		return nil
	}
	return all[first : last+1]
}

// integer reads a number that must be one: a script that says something else is wrong.
func integer(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func float(s string) float64 {
	f, err := strconv.ParseFloat(s, 64) // it knows inf, too
	if err != nil {
		panic(err)
	}
	return f
}

// status is an answer as OK is.
type status string

// refusal is an answer that is an error.
type refusal string

func (r refusal) Error() string { return string(r) }

// RedisError makes it one of the errors that the client library takes for an answer.
func (refusal) RedisError() {}

var errCut = errors.New("the connection broke")
