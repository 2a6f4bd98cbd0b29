package simulator

import (
	"crypto/sha1" // Redis names scripts by it
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// interpreters are reused by later schedules.
var interpreters = sync.Pool{New: func() any {
	l := lua.NewState()
	l.GetGlobal("string").(*lua.LTable).RawSetString("format", l.NewFunction(format))
	if err := l.DoString(asInC); err != nil {
		panic(err)
	}
	return l
}}

// asInC makes functions answer as they do in the Lua of Redis: without a match the answer is nil,
// and not nothing.
const asInC = `
local match = string.match
local function one(first, ...) return first, ... end
function string.match(...) return one(match(...)) end`

// format is string.format, but also accepts texts as numbers.
func format(l *lua.LState) int {
	at := 1
	text := verb.ReplaceAllStringFunc(l.CheckString(1), func(v string) string {
		at++
		if strings.HasSuffix(v, "s") {
			return l.CheckString(at)
		}
		return strconv.FormatFloat(float64(l.CheckNumber(at)), 'f', 0, 64)
	})
	l.Push(lua.LString(text))
	return 1
}

// verb matches the verbs that the scripts use.
var verb = regexp.MustCompile(`%(s|d|\.0f)`)

// compiled maps texts to compiled scripts. Servers of many schedules share them.
var compiled sync.Map

func compile(text string) *lua.FunctionProto {
	if p, ok := compiled.Load(text); ok {
		return p.(*lua.FunctionProto)
	}
	chunk, err := parse.Parse(strings.NewReader(text), "user_script")
	if err != nil {
		panic(err)
	}
	p, err := lua.Compile(chunk, "user_script")
	if err != nil {
		panic(err)
	}
	compiled.Store(text, p)
	return p
}

// load stores a script, and plants the fault in it.
func (s *server) load(text string) string {
	sum := sha1.Sum([]byte(text)) // as Redis does
	sha := hex.EncodeToString(sum[:])
	text = s.cluster.plantedFault.applyTo(text)
	if s.cluster.smallSteps {
		text = stepLimits.ReplaceAllString(text, "${1}1")
	}
	s.scripts[sha] = text
	return sha
}

// stepLimits matches the uses of MAX_STEPS. The schedules have too few waiters to reach it.
var stepLimits = regexp.MustCompile(`(steps >= |for _ = 1, |value and |#ended == )\d+\b`)

// run runs a script.
func (s *server) run(sha string, keys, args []string) any {
	text, known := s.scripts[sha]
	if !known {
		return refusal("NOSCRIPT No matching script. Please use EVAL.")
	}
	l := interpreters.Get().(*lua.LState)
	defer interpreters.Put(l)
	redis := l.NewTable()
	redis.RawSetString("call", l.NewFunction(func(l *lua.LState) int { return s.called(l, true) }))
	redis.RawSetString("pcall", l.NewFunction(func(l *lua.LState) int { return s.called(l, false) }))
	redis.RawSetString("acl_check_cmd", l.NewFunction(func(l *lua.LState) int { l.Push(lua.LTrue); return 1 }))
	l.SetGlobal("redis", redis)
	l.SetGlobal("KEYS", list(l, keys))
	l.SetGlobal("ARGV", list(l, args))
	l.Push(l.NewFunctionFromProto(compile(text)))
	if err := l.PCall(0, 1, nil); err != nil {
		if failed, is := err.(*lua.ApiError); is {
			if answer, is := answerOf(failed.Object).(refusal); is {
				return answer
			}
		}
		return refusal("ERR " + err.Error())
	}
	answer := answerOf(l.Get(-1))
	l.Pop(1)
	return answer
}

func list(l *lua.LState, texts []string) *lua.LTable {
	t := l.NewTable()
	for _, text := range texts {
		t.Append(lua.LString(text))
	}
	return t
}

// called implements redis.call and redis.pcall.
func (s *server) called(l *lua.LState, raise bool) int {
	args := make([]string, l.GetTop())
	for i := range args {
		switch a := l.Get(i + 1).(type) {
		case lua.LNumber:
			args[i] = number(float64(a))
		case lua.LString:
			args[i] = string(a)
		default:
			panic("not an argument of a command: " + a.String())
		}
		if strings.Contains(args[i], "%") {
			panic("a format was not understood: " + args[i])
		}
	}
	answer := s.do(args)
	if _, failed := answer.(refusal); failed && raise {
		l.Error(valueOf(l, answer), 1)
	}
	l.Push(valueOf(l, answer))
	return 1
}

// valueOf converts an answer for scripts.
func valueOf(l *lua.LState, answer any) lua.LValue {
	switch a := answer.(type) {
	case int64:
		return lua.LNumber(a)
	case string:
		return lua.LString(a)
	case status:
		t := l.NewTable()
		t.RawSetString("ok", lua.LString(a))
		return t
	case refusal:
		t := l.NewTable()
		t.RawSetString("err", lua.LString(a))
		return t
	case []any:
		t := l.NewTable()
		for _, item := range a {
			t.Append(valueOf(l, item))
		}
		return t
	}
	return lua.LFalse
}

// answerOf converts the result of a script for clients.
func answerOf(v lua.LValue) any {
	switch v := v.(type) {
	case lua.LNumber:
		return int64(v)
	case lua.LString:
		return string(v)
	case lua.LBool:
		if v {
			return int64(1)
		}
	case *lua.LTable:
		if text, is := v.RawGetString("err").(lua.LString); is {
			return refusal(text)
		}
		if text, is := v.RawGetString("ok").(lua.LString); is {
			return status(text)
		}
		all := []any{}
		for i := 1; v.RawGetInt(i) != lua.LNil; i++ {
			all = append(all, answerOf(v.RawGetInt(i)))
		}
		return all
	}
	return nil
}
