package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// do executes a command of a script or a client. The server is locked.
func (s *server) do(args []string) any {
	name, args := strings.ToUpper(args[0]), args[1:]
	command := commands[name]
	if command == nil {
		panic("the simulated server does not know " + name)
	}
	return command(s, args)
}

// get returns a value that has not expired, or nil.
func (s *server) get(key string) *value {
	v := s.data[key]
	if v != nil && v.end != 0 && s.now() > v.end {
		delete(s.data, key)
		return nil
	}
	return v
}

// getOrCreate returns a value to be changed.
func (s *server) getOrCreate(key string) *value {
	v := s.get(key)
	if v == nil {
		v = &value{}
		s.data[key] = v
	}
	return v
}

// removeIfEmpty removes a hash or a set that has become empty.
func (s *server) removeIfEmpty(key string) {
	if v := s.data[key]; v != nil && len(v.hash) == 0 && len(v.zset) == 0 {
		delete(s.data, key)
	}
}

var commands = map[string]func(s *server, args []string) any{
	"TIME": func(s *server, _ []string) any {
		us := s.clock.now().UnixMicro()
		return []any{strconv.FormatInt(us/1e6, 10), strconv.FormatInt(us%1e6, 10)}
	},
	"GET":    func(s *server, a []string) any { return s.text(a[0]) },
	"MGET":   func(s *server, a []string) any { return each(a, s.text) },
	"SET":    (*server).set,
	"DEL":    func(s *server, a []string) any { return s.count(a, func(key string) { delete(s.data, key) }) },
	"EXISTS": func(s *server, a []string) any { return s.count(a, func(string) {}) },
	"PTTL": func(s *server, a []string) any {
		return s.when(a[0], func(end int64) int64 { return end - s.now() })
	},
	"PEXPIRETIME": func(s *server, a []string) any { return s.when(a[0], func(end int64) int64 { return end }) },
	"PEXPIRE":     func(s *server, a []string) any { return s.expire(a[0], s.now()+integer(a[1]), a[2:]) },
	"PEXPIREAT":   func(s *server, a []string) any { return s.expire(a[0], integer(a[1]), a[2:]) },

	"HGET":    func(s *server, a []string) any { return s.field(a[0], a[1]) },
	"HMGET":   func(s *server, a []string) any { return each(a[1:], func(f string) any { return s.field(a[0], f) }) },
	"HEXISTS": func(s *server, a []string) any { return truth(s.field(a[0], a[1]) != nil) },
	"HSET": func(s *server, a []string) any {
		v := s.getOrCreate(a[0])
		if v.hash == nil {
			v.hash = map[string]string{}
		}
		for i := 1; i+1 < len(a); i += 2 {
			v.hash[a[i]] = a[i+1]
		}
		return int64(len(a) / 2)
	},
	"HDEL": func(s *server, a []string) any {
		before := len(s.getOrCreate(a[0]).hash)
		for _, f := range a[1:] {
			delete(s.data[a[0]].hash, f)
		}
		n := before - len(s.data[a[0]].hash)
		s.removeIfEmpty(a[0])
		return int64(n)
	},

	"ZADD": func(s *server, a []string) any {
		v := s.getOrCreate(a[0])
		if v.zset == nil {
			v.zset = map[string]float64{}
		}
		onlyNew := a[1] == "NX"
		if onlyNew {
			a = a[1:]
		}
		_, there := v.zset[a[2]]
		if !there || !onlyNew {
			v.zset[a[2]] = float(a[1])
		}
		return truth(!there)
	},
	"ZREM": func(s *server, a []string) any {
		_, there := s.getOrCreate(a[0]).zset[a[1]]
		delete(s.data[a[0]].zset, a[1])
		s.removeIfEmpty(a[0])
		return truth(there)
	},
	"ZCARD": func(s *server, a []string) any { return int64(len(s.get(a[0]).sorted())) },
	"ZSCORE": func(s *server, a []string) any {
		if v := s.get(a[0]); v != nil {
			if score, there := v.zset[a[1]]; there {
				return number(score)
			}
		}
		return nil
	},
	"ZRANK": func(s *server, a []string) any {
		at := slices.IndexFunc(s.get(a[0]).sorted(), func(m member) bool { return m.name == a[1] })
		if at < 0 {
			return nil
		}
		return int64(at)
	},
	"ZRANGE": func(s *server, a []string) any {
		return membersReply(part(s.get(a[0]).sorted(), a[1], a[2]), len(a) > 3)
	},
	"ZREVRANGE": func(s *server, a []string) any {
		all := s.get(a[0]).sorted()
		slices.Reverse(all)
		return membersReply(part(all, a[1], a[2]), len(a) > 3)
	},
	"ZRANGEBYSCORE": func(s *server, a []string) any {
		all := slices.DeleteFunc(s.get(a[0]).sorted(),
			func(m member) bool { return m.score < float(a[1]) || m.score > float(a[2]) })
		return membersReply(all, false)
	},
	"PUBLISH":  func(*server, []string) any { return int64(0) },
	"SPUBLISH": func(*server, []string) any { return int64(0) },

	"WATCH":   func(*server, []string) any { return status("OK") },
	"UNWATCH": func(*server, []string) any { return status("OK") },
	"INFO": func(s *server, _ []string) any {
		return fmt.Sprintf(
			"redis_version:7.4.0\r\nredis_mode:%s\r\nrun_id:%s\r\nuptime_in_seconds:%d\r\n"+
				"role:master\r\nmaster_replid2:%s\r\n",
			s.mode(), s.runID, s.uptime(), strings.Repeat("0", 40))
	},
	"WAIT":    func(s *server, a []string) any { return s.confirmations(integer(a[0])) },
	"CLUSTER": func(s *server, _ []string) any { return s.cluster.nodes(s) },
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func each(list []string, of func(string) any) (all []any) {
	for _, s := range list {
		all = append(all, of(s))
	}
	return all
}

func (s *server) text(key string) any {
	v := s.get(key)
	switch {
	case v == nil:
		return nil
	case v.hash != nil || v.zset != nil:
		return refusal("WRONGTYPE Operation against a key holding the wrong kind of value")
	}
	return v.text
}

func (s *server) field(key, field string) any {
	if v := s.get(key); v != nil {
		if text, there := v.hash[field]; there {
			return text
		}
	}
	return nil
}

func (s *server) count(keys []string, then func(key string)) (n int64) {
	for _, key := range keys {
		if s.get(key) != nil {
			n++
			then(key)
		}
	}
	return n
}

func (s *server) when(key string, of func(end int64) int64) int64 {
	v := s.get(key)
	switch {
	case v == nil:
		return -2
	case v.end == 0:
		return -1
	}
	return of(v.end)
}

func (s *server) expire(key string, end int64, option []string) int64 {
	v := s.get(key)
	if v == nil || len(option) > 0 && (v.end == 0 || end <= v.end) { // GT
		return 0
	}
	v.end = end
	return 1
}

func (s *server) set(a []string) any {
	key, before := a[0], s.text(a[0])
	v := &value{text: a[1]}
	get, nx := false, false
	for i := 2; i < len(a); i++ {
		switch a[i] {
		case "NX":
			nx = true
		case "GET":
			get = true
		case "KEEPTTL":
			if v.end = 0; before != nil {
				v.end = s.data[key].end
			}
		case "PX":
			i++
			v.end = s.now() + integer(a[i])
		case "PXAT":
			i++
			v.end = integer(a[i])
		}
	}
	if wrong, is := before.(refusal); is && get {
		return wrong
	}
	if !nx || before == nil {
		s.data[key] = v
		if !get {
			return status("OK")
		}
	}
	if get {
		return before
	}
	return nil
}

// snapshot returns a copy of the data, as a backup would have it.
func (s *server) snapshot() map[string]*value {
	all := maps.Clone(s.data)
	for key, v := range all {
		all[key] = v.clone()
	}
	return all
}
