package redisfence

import (
	// by which Redis names scripts
	_ "embed"
	"strings"

	"github.com/leasehold-go/leasehold/redis/internal/luascript"
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

var (
	raiseScript   = luascript.New(withMark(raiseLua))
	commandScript = luascript.New(withMark(commandLua))
	wrapperLua    = withMark(scriptLua)
)

// withMark puts mark.lua into a script that uses it.
func withMark(text string) string {
	return strings.Replace(text, "-- use mark.lua\n", markLua, 1)
}

// wrapScript returns the script that runs one of the user's. The newline after it ends a comment in its last line.
func wrapScript(text string) *luascript.Script {
	return luascript.New(strings.Replace(wrapperLua, "-- the script\n", text+"\n", 1))
}
