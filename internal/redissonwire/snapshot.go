package redissonwire

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Key is a key with all that is in it.
type Key struct {
	Name string
	Type string // string, hash, list, zset or set
	// Expires is when it expires, by the server's clock, or the zero time if it has no ttl.
	Expires time.Time
	// Fields are those of a hash with their values, the members of a sorted set with their scores, or the entries of a
	// list, whose values are empty. A string is the only entry.
	Fields []Field
}

// Field is a part of the value of a key.
type Field struct{ Name, Value string }

// Snapshot returns all keys of the servers, in order of their names.
func (r *Recorder) Snapshot() (all []Key, err error) {
	for _, n := range r.nodes {
		reply, err := n.conn.Do("KEYS", "*")
		if err != nil {
			return nil, err
		}
		names, _ := reply.([]any)
		for _, name := range names {
			k, err := n.key(fmt.Sprint(name))
			if err != nil {
				return nil, err
			}
			if k.Type != "none" { // it has expired meanwhile
				all = append(all, k)
			}
		}
	}
	slices.SortFunc(all, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// readers are the commands that return all of a value.
var readers = map[string][]string{
	"string": {"GET"}, "hash": {"HGETALL"}, "list": {"LRANGE", "0", "-1"}, "set": {"SMEMBERS"},
	"zset": {"ZRANGE", "0", "-1", "WITHSCORES"},
}

func (n *node) key(name string) (Key, error) {
	k := Key{Name: name}
	kind, err := n.conn.Do("TYPE", name)
	if err != nil {
		return k, err
	}
	k.Type = fmt.Sprint(kind)
	read := readers[k.Type]
	if read == nil {
		return k, nil
	}
	expires, err := n.conn.Do("PEXPIRETIME", name)
	if err != nil {
		return k, err
	}
	if ms, _ := expires.(int64); ms >= 0 {
		k.Expires = time.UnixMilli(ms)
	}
	value, err := n.conn.Do(append([]string{read[0], name}, read[1:]...)...)
	if err != nil {
		return k, err
	}
	switch value := value.(type) {
	case nil:
		k.Type = "none"
	case string:
		k.Fields = []Field{{Name: value}}
	case []any:
		pairs := k.Type == "hash" || k.Type == "zset"
		for i := 0; i < len(value); i++ {
			f := Field{Name: fmt.Sprint(value[i])}
			if pairs && i+1 < len(value) {
				i++
				f.Value = fmt.Sprint(value[i])
			}
			k.Fields = append(k.Fields, f)
		}
	}
	return k, nil
}
