package redis

import (
	"context"
	"strconv"

	"github.com/leasehold-go/leasehold/driver"
)

func dataNames(e *Engine, name string) redisKeys {
	return e.names(driver.Key{Kind: driver.Lock, Name: name})
}

// SetData implements [driver.DataKeeper]. Data is as safe as what the server keeps: a server without persistence
// forgets it in a restart, and a failover may lose what the new master had not got yet; see [WithReplicas].
func (e *Engine) SetData(ctx context.Context, s driver.DataSet) error {
	if err := checkOwner(s.Hold.Owner); err != nil {
		return err
	}
	n := dataNames(e, s.Hold.Name)
	call := newScriptCall([]string{n.value, n.data()}, s.Hold.Owner,
		strconv.FormatUint(s.Data.Token, 10), strconv.FormatUint(s.Data.Number, 10), s.Data.Value)
	return replies.Held(inTime(ctx, e, func(ctx context.Context) (any, error) {
		answer, _, err := e.runScript(ctx, e.sendWithReplicas, scriptDataSet, n, call)
		return answer, err
	}, nil))
}

// Data implements [driver.DataKeeper].
func (e *Engine) Data(ctx context.Context, name string) (driver.Data, error) {
	n := dataNames(e, name)
	return replies.Data(e.runReadOnly(ctx, readCall{script: scriptDataRead, names: n, keys: []string{n.data()}}))
}
