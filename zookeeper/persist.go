package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// persist calls a removal, and again for as long as ctx lasts if the connection ends before the answer has come: the client connects to a server again. It may
// arrive any number of times, as what it names is made once only.
//
// A removal that was asked for again, and then found nothing, may have removed it the first time, or somebody else may have before. So what was not answered
// stays unknown unless a later removal has found it.
func persist(ctx context.Context, remove func() error) error {
	var lost error
	for {
		err := remove()
		switch {
		case errors.Is(err, zk.ErrConnectionClosed) && ctx.Err() == nil:
			lost = err
			continue
		case lost == nil || err == nil:
			return err
		}
		return fmt.Errorf("%w before it was answered; asked again: %v", lost, err)
	}
}
