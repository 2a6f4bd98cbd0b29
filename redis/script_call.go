package redis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// scriptCall holds the words of a script call: EVALSHA, the hash, the number of keys, the keys and the arguments. Keys
// are pointers to strings: storing a pointer in an interface, unlike a string, allocates nothing.
type scriptCall []any

func newScriptCall(keys []string, args ...any) scriptCall {
	call := make(scriptCall, 3, 3+len(keys)+len(args)+1) // room for what checked adds
	call[2] = len(keys)
	for i := range keys {
		call = append(call, &keys[i])
	}
	return append(call, args...)
}

// checked adds what a script that may grant checks before: the slot's marker, as the last key, and whether grants are
// closed, as the last argument.
func (call scriptCall) checked(set *scriptSet, s script, n redisKeys, closed bool) scriptCall {
	if set.checksMarker(s) {
		keys, marker := call[2].(int), set.config.slotMarkerKey(n.slot())
		all := make(scriptCall, 0, len(call)+2)
		all = append(append(all, call[:3+keys]...), &marker)
		all[2] = keys + 1
		call = append(all, call[3+keys:]...)
	}
	if s.grantPolicy() == grantsUnlessClosed {
		call = append(call, flagArg(closed))
	}
	return call
}

// command returns the command that runs the script on a server. The call may be reused once there is an answer.
func (call scriptCall) command(ctx context.Context, set *scriptSet, s script) luascript.SingleCommand {
	return call.commandBy(ctx, evalsha, set, s)
}

// The commands that run a script. Users without the right to write may use the second one; then the script may not
// write either.
const evalsha, evalshaReadOnly = "evalsha", "evalsha_ro"

// commandBy is command with the choice of EVALSHA or EVALSHA_RO.
func (call scriptCall) commandBy(ctx context.Context, by string, set *scriptSet, s script) luascript.SingleCommand {
	call[0], call[1] = by, &set.sha[s]
	cmd := redis.NewCmd(ctx, call...)
	cmd.SetFirstKeyPos(3)
	return luascript.SingleCommand{Cmd: cmd}
}

// placeArg converts a place in the queue for the scripts.
func placeArg(place, owner string) string {
	if place == owner {
		return ""
	}
	return place
}

// flagArg converts a bool for the scripts.
func flagArg(b bool) string {
	if b {
		return "1"
	}
	return ""
}
