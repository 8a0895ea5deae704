package refusal

import (
	"time"

	"github.com/sayso-dev/sayso/wire"
)

// notStoredReasons are the reasons why something could not be stored.
var notStoredReasons = map[wire.NoticeCode]string{
	wire.ReadOnly:    "disk_full",
	wire.Unavailable: "cannot_store",
	wire.Broken:      "disk_broken",
}

// notStored is the refusal of what the store could not take.
func notStored(code wire.NoticeCode) *Refusal {
	r := New(notStoredReasons[code])
	r.Retry = time.Second
	return r
}
