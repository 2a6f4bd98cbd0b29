package redis

import (
	"strconv"
	"strings"
)

// firstSlot returns the lowest slot of the node that has answered CLUSTER NODES.
// See https://redis.io/docs/latest/commands/cluster-nodes/.
func firstSlot(text string) (slot uint16, ok bool) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 || !strings.Contains(fields[2], "myself") {
			continue
		}
		for _, area := range fields[8:] {
			first, _, _ := strings.Cut(area, "-")
			if n, err := strconv.ParseUint(first, 10, 16); err == nil && n < slots && (!ok || uint16(n) < slot) {
				slot, ok = uint16(n), true
			}
		}
	}
	return slot, ok
}
