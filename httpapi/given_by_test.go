package httpapi_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// TestCommandOfAnotherPerson: what a browser kept for one person and sends with the
// sign-in of another is refused, over REST and over a WebSocket, and says why; what
// names its sender, or nobody, is taken.
func TestCommandOfAnotherPerson(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana, ben := h.someone("Ana", account.Member), h.someone("Ben", account.Member)
	session := h.NewSession("api")
	r, answered := h.Ask(session, "one", nil)
	give := func(userID string) apitest.Response {
		return h.Call("POST", "/api/pending/"+r.RequestID+"/response", map[string]any{
			"session_id": session, "request_type": r.RequestType, "decision": "allow", "user_id": userID, "command_id": uuid.NewString(),
		}, ben.way)
	}
	apitest.CheckRefusal(t, give(ana.id), 403, "other_person")

	b := h.openAs(ben)
	if hello := b.Frames[0]; hello["user_id"] != ben.id {
		t.Fatalf("hello says that %v is signed in, not %s", hello["user_id"], ben.id)
	}
	for kind, fields := range map[string]map[string]any{
		"pending_request_response": {"session_id": session, "request_id": r.RequestID, "request_type": r.RequestType, "decision": "allow"},
		"send_message":             {"session_id": session, "text": "Go on"},
	} {
		fields["user_id"] = ana.id
		ack := b.Do(kind, fields)
		if ack.Result != wire.Rejected || ack.Error.Code != "other_person" {
			t.Fatalf("%s of another: %+v", kind, ack)
		}
	}
	select {
	case got := <-answered:
		t.Fatalf("it counted: %+v", got.Resolution)
	default:
	}
	if got := give(ben.id); got.Status != 200 {
		t.Fatalf("one's own: %d %s", got.Status, got.Body)
	}
	<-answered
}
