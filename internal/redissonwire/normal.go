package redissonwire

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// normalizer gives what differs from run to run a fixed form. It belongs to one part of a file.
type normalizer struct {
	labels  map[string]string // of owners and of ids of clients
	permits map[string]string // labels of ids of permits, by their hexadecimal digits
	clocks  map[string]string // what was said of a time of the clock when it was first seen
	ttls    map[string]expiry // and of the ttl of a key
}

type expiry struct {
	expires time.Time
	said    string
}

func newNormalizer() *normalizer {
	return &normalizer{permits: map[string]string{}, clocks: map[string]string{}, ttls: map[string]expiry{}}
}

var (
	uuids    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(:[0-9]+)?`)
	requests = regexp.MustCompile(`(redisson_unlock_latch:.*:)[0-9a-f]{32}$`)
	permits  = regexp.MustCompile(`^[0-9a-f]{32}$`)
	clocks   = regexp.MustCompile(`\b1[4-9][0-9]{11}\b`)
)

// text returns the fixed form of a word that was seen at some time.
func (n *normalizer) text(s string, at time.Time) string {
	switch {
	case len(s) == 16 && !printable(s):
		return n.permit(hex.EncodeToString([]byte(s)))
	case permits.MatchString(s):
		return n.permit(s)
	}
	s = requests.ReplaceAllString(s, "${1}<request>")
	s = uuids.ReplaceAllStringFunc(s, n.owner)
	s = clocks.ReplaceAllStringFunc(s, func(ms string) string { return n.clock(ms, at) })
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		s = number(v)
	}
	return s
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (n *normalizer) permit(id string) string {
	if n.permits[id] == "" {
		n.permits[id] = fmt.Sprintf("<permit%d>", len(n.permits)+1)
	}
	return n.permits[id]
}

func (n *normalizer) owner(s string) string {
	if label := n.labels[s]; label != "" {
		return label
	}
	id, thread, whole := strings.Cut(s, ":")
	for owner, label := range n.labels {
		if strings.HasPrefix(owner, id+":") {
			client, _, _ := strings.Cut(label, ":")
			if whole {
				return client + ":?"
			}
			return client
		}
	}
	_ = thread // it says nothing without a label
	return "<unknown>"
}

func (n *normalizer) clock(ms string, at time.Time) string {
	if n.clocks[ms] == "" {
		v, _ := strconv.ParseInt(ms, 10, 64) // it is 13 digits
		said := "now"
		if d := seconds(v - at.UnixMilli()); d != 0 {
			said = fmt.Sprintf("now%+d", d)
		}
		n.clocks[ms] = said
	}
	return n.clocks[ms]
}

// seconds rounds milliseconds to seconds. What is left of a time is a little shorter than it was.
func seconds(ms int64) int64 {
	ms += 800
	if ms < 0 {
		ms -= 999
	}
	return ms / 1000 * 1000
}

// number returns the fixed form of a number: those of 1000 and more that are not round are times that have passed in
// part.
func number(v int64) string {
	if v < 1000 || v%100 == 0 || v > 1e12 {
		return strconv.FormatInt(v, 10)
	}
	return fmt.Sprintf("~%d", seconds(v))
}

// value returns the fixed form of what a call has returned.
func (n *normalizer) value(v any, at time.Time) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return quoted(n.text(v, at))
	case int64:
		return n.text(strconv.FormatInt(v, 10), at)
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, n.value(e, at))
		}
		return "[" + strings.Join(all, " ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// quoted puts a word in quotes if it would otherwise not be one word.
func quoted(s string) string {
	if s == "" || !printable(s) || strings.ContainsAny(s, " \"[]") {
		return strconv.Quote(s)
	}
	return s
}

func (n *normalizer) words(all []string, at time.Time) string {
	said := make([]string, len(all))
	for i, s := range all {
		said[i] = quoted(n.text(s, at))
	}
	return strings.Join(said, " ")
}
