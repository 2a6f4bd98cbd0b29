package redisson

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// endlessLease is the end of a permit's lease that has none, in milliseconds since 1970.
const endlessLease = 922337203685477

// semaphoreOf returns the name of the semaphore whose held permits are in a key.
func semaphoreOf(key string) (name string, ok bool) {
	name, ok = strings.CutSuffix(key, ":timeout")
	inner, begins := strings.CutPrefix(name, "{")
	if inner, ends := strings.CutSuffix(inner, "}"); begins && ends && !strings.Contains(inner, "{") {
		name = inner
	}
	return name, ok && heldPermits(name) == key
}

// readStatus lists the holders of permits. Programs in Java store nothing about themselves, so each of their permits is
// a holder of its own, and Redisson's semaphores without leases (RSemaphore) have no holders.
func (permitSemaphore) readStatus(answer any) (st driver.Status, _ error) {
	items, _ := answer.([]any)
	if len(items) != 3 {
		return st, errReply
	}
	now, isNumber := items[0].(int64)
	permits, isList := items[1].([]any)
	known, isHash := items[2].([]any)
	if !isNumber || !isList || !isHash {
		return st, errReply
	}
	owners := map[string]driver.Holder{}
	for i := 0; i+1 < len(known); i += 2 {
		owner, _ := known[i].(string)
		owners[owner] = readPermitHolder(known[i+1])
	}
	var all []driver.Holder
	at := map[string]int{}
	for i := 0; i+1 < len(permits); i += 2 {
		id, _ := permits[i].(string)
		end, _ := permits[i+1].(string)
		millis, err := strconv.ParseFloat(end, 64)
		if err != nil || len(id) != permitSize {
			return st, nil // it is no semaphore
		}
		owner := id[:permitOwnerSize]
		if n, found := at[owner]; found {
			all[n].Weight++
			continue
		}
		h, ours := owners[owner]
		if ours {
			at[owner] = len(all)
		} else {
			h = driver.Holder{Holder: "Redisson permit", Age: -1}
		}
		h.Weight, h.TTL = 1, driver.NoTTL
		if millis < endlessLease {
			h.TTL = luascript.Duration(int64(millis) - now)
		}
		all = append(all, h)
	}
	slices.SortStableFunc(all, func(a, b driver.Holder) int { return cmp.Compare(a.Token, b.Token) })
	st.Holders = all
	return st, nil
}

// readPermitHolder reads what a take has stored about a holder: weight, last token and text.
func readPermitHolder(stored any) driver.Holder {
	text, _ := stored.(string)
	_, text, _ = strings.Cut(text, " ")
	token, holder, _ := strings.Cut(text, " ")
	h := driver.Holder{Holder: holder, Age: -1}
	if last, err := strconv.ParseUint(token, 10, 64); err == nil && last <= driver.MaxToken {
		h.Token = last
	}
	return h
}
