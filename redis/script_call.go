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
	call := make(scriptCall, 3, 3+len(keys)+len(args)+1) // room for the argument closed
	call[2] = len(keys)
	for i := range keys {
		call = append(call, &keys[i])
	}
	return append(call, args...)
}

// withMarker adds the slot's marker to the keys, if the script checks it.
func (call scriptCall) withMarker(set *scriptSet, s script, n names) scriptCall {
	if !set.checksMarker(s) {
		return call
	}
	keys := call[2].(int)
	marker := set.config.slotMarkerKey(n.slot())
	all := make(scriptCall, 0, len(call)+1)
	all = append(all, call[:3+keys]...)
	all = append(append(all, &marker), call[3+keys:]...)
	all[2] = keys + 1
	return all
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
