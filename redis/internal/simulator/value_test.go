package simulator

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
)

// value is the value of a key: a string, unless one of the others is set.
type value struct {
	text string
	hash map[string]string
	zset map[string]float64
	end  int64 // ms by the clock of the server; 0: never
}

func (v *value) clone() *value {
	return &value{v.text, maps.Clone(v.hash), maps.Clone(v.zset), v.end}
}

// member is a member of a sorted set.
type member struct {
	name  string
	score float64
}

// sorted returns the members of a set in their order.
func (v *value) sorted() (all []member) {
	if v == nil {
		return nil
	}
	for name, score := range v.zset {
		all = append(all, member{name, score})
	}
	slices.SortFunc(all,
		func(a, b member) int { return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name)) })
	return all
}

// membersReply returns members as an answer.
func membersReply(all []member, scores bool) (answer []any) {
	for _, m := range all {
		answer = append(answer, m.name)
		if scores {
			answer = append(answer, number(m.score))
		}
	}
	return answer
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// part returns the members between two positions, which count from the end if negative.
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

// integer reads a number. A script that sends anything else is wrong.
func integer(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func float(s string) float64 {
	f, err := strconv.ParseFloat(s, 64) // it accepts inf, too
	if err != nil {
		panic(err)
	}
	return f
}

// status is a status reply, such as OK.
type status string

// refusal is an error reply.
type refusal string

func (r refusal) Error() string { return string(r) }

// RedisError marks it as an error reply for the client library.
func (refusal) RedisError() {}

var errConnectionBroken = errors.New("the connection broke")
