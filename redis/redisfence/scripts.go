package redisfence

import (
	"crypto/sha1" // by which Redis names scripts
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

// script is a script with the hash by which servers know it.
type script struct{ text, hash string }

var (
	raiseScript   = newScript(withMark(raiseLua))
	commandScript = newScript(withMark(commandLua))
	wrapperLua    = withMark(scriptLua)
)

func newScript(text string) script {
	sum := sha1.Sum([]byte(text)) // see above
	return script{text, hex.EncodeToString(sum[:])}
}

// withMark puts mark.lua into a script that uses it.
func withMark(text string) string {
	return strings.Replace(text, "-- use mark.lua\n", markLua, 1)
}

// wrapScript returns the script that runs one of the user's. The newline after it ends a comment in its last line.
func wrapScript(text string) script {
	return newScript(strings.Replace(wrapperLua, "-- the script\n", text+"\n", 1))
}
