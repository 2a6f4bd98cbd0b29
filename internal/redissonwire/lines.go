package redissonwire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// commandLines says what clients did, client by client.
func (n *normalizer) commandLines(blocks []block) (lines []string) {
	blocks = slices.Clone(blocks)
	slices.SortStableFunc(blocks, func(a, b block) int {
		return cmp.Or(strings.Compare(a.client, b.client), a.at.Compare(b.at)) // of several servers
	})
	var last, cleanups []string // a client does not wait for a clean-up, so anything may come before
	for _, b := range blocks {
		said, writes := n.blockLines(b)
		switch {
		case b.name() == "del" && strings.Contains(said[0], "<request>"):
			cleanups = append(cleanups, said...)
			continue
		case !writes && slices.Equal(said, last):
			continue // how often a waiter is refused when it looks is a matter of timing
		}
		lines = append(lines, said...)
		last = said
	}
	slices.Sort(cleanups)
	return append(lines, cleanups...)
}

// blockLines says what one command did, and whether it may have changed something.
func (n *normalizer) blockLines(b block) (lines []string, writes bool) {
	client := b.client
	if client == "" {
		client = "?"
	}
	if !b.isScript() {
		line := "c " + client + " " + strings.ToUpper(b.name())
		if len(b.args) > 1 {
			line += " " + n.words(b.args[1:], b.at)
		}
		return []string{line}, writing[b.name()]
	}
	keys, args := b.keysAndArguments()
	lines = append(lines, "c "+client+" EVAL ["+n.words(keys, b.at)+"] ["+n.words(args, b.at)+"]")
	for _, c := range b.inner {
		kind := "r "
		if writing[c.name()] {
			kind, writes = "w ", true
		}
		lines = append(lines, kind+c.name()+" "+n.words(c.args[1:], b.at))
	}
	return lines, writes
}

func (n *normalizer) messageLines(messages []Message, at time.Time) (lines []string) {
	for _, m := range messages {
		lines = append(lines, "m "+quoted(n.text(m.Channel, at))+" "+quoted(n.text(m.Payload, at)))
	}
	return lines
}

func (n *normalizer) keyLines(keys []Key, at time.Time) (lines []string) {
	for _, k := range keys {
		line := "k " + quoted(n.text(k.Name, at)) + " " + k.Type
		if !k.Expires.IsZero() {
			line += " ttl " + n.ttl(k, at)
		}
		var fields []string
		for _, f := range k.Fields {
			field := quoted(n.text(f.Name, at))
			if f.Value != "" {
				field += ": " + quoted(n.text(f.Value, at))
			}
			fields = append(fields, field)
		}
		switch k.Type {
		case "string":
			line += " " + strings.Join(fields, "")
		case "list":
			line += " {" + strings.Join(fields, ", ") + "}"
		default: // their order is by bytes that differ from run to run
			slices.Sort(fields)
			line += " {" + strings.Join(fields, ", ") + "}"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// ttl says what the ttl of a key was when it was last set. It has become a little shorter since.
func (n *normalizer) ttl(k Key, at time.Time) string {
	if last := n.ttls[k.Name]; last.expires.Equal(k.Expires) {
		return last.said
	}
	left := max(seconds(k.Expires.Sub(at).Milliseconds()), 1000)
	said := fmt.Sprintf("~%d", left)
	n.ttls[k.Name] = expiry{k.Expires, said}
	return said
}
