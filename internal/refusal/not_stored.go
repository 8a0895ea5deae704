package refusal

import (
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

// notStoredMessages are the sentences of the refusal of what could not be stored.
var notStoredMessages = map[wire.NoticeCode]string{
	wire.ReadOnly:    "The disk of the server is full or takes no writes, so this could not be stored. Nothing was changed; try again once there is space.",
	wire.Unavailable: "The server cannot store anything now. Nothing was changed; try again in a moment.",
	wire.Broken:      "The disk failed under the database of the server, and it is unknown whether this was stored. Look again once the server was restarted.",
}

// notStored is the refusal of what the store could not take.
func notStored(code wire.NoticeCode) *Refusal {
	r := New(http.StatusServiceUnavailable, string(code), notStoredMessages[code])
	r.Retry = time.Second
	return r
}
