package sqlstore

import (
	"context"

	"github.com/sayso-dev/sayso/session"
)

var selectLastEpoch = query("SELECT last FROM epochs")

// LastEpoch implements [session.Store].
func (s Shared) LastEpoch(ctx context.Context) (uint64, error) {
	epoch, err := queryOne(ctx, s, "last epoch", selectLastEpoch, session.ErrNotFound, scanValue[int64])
	return uint64(epoch), err
}
