package redisfence

import (
	"crypto/sha1" // it is how Redis names scripts
	_ "embed"
	"encoding/hex"
	"strings"
)

var (
	//go:embed scripts/mark.lua
	markLua string
	//go:embed scripts/raise.lua
	raiseLua string
	//go:embed scripts/command.lua
	commandLua string
	//go:embed scripts/script.lua
	scriptLua string
)

// script is a script with the hash under which servers know it.
type script struct{ text, hash string }

var (
	raiseScript   = newScript(withMark(raiseLua))
	commandScript = newScript(withMark(commandLua))
	aroundLua     = withMark(scriptLua)
)

func newScript(text string) script {
	sum := sha1.Sum([]byte(text)) // see above
	return script{text, hex.EncodeToString(sum[:])}
}

// withMark puts in what a script uses.
func withMark(text string) string {
	return strings.Replace(text, "-- use mark.lua\n", markLua, 1)
}

// around is the script that runs one of the user's. A line of its own ends a comment in the last line of that.
func around(text string) script {
	return newScript(strings.Replace(aroundLua, "-- the script\n", text+"\n", 1))
}
