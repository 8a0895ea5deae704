package refusal

import (
	"time"

	"github.com/sayso-dev/sayso/wire"
)

// notStoredReasons maps each cause of a failed write to its reason.
var notStoredReasons = map[wire.NoticeCode]string{
	wire.ReadOnly:    "disk_full",
	wire.Unavailable: "cannot_store",
	wire.Broken:      "disk_broken",
}

// notStored returns the refusal of a write that the store rejected.
func notStored(code wire.NoticeCode) *Refusal {
	r := New(notStoredReasons[code])
	r.Retry = time.Second
	return r
}
