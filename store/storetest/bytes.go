package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// awkwardTexts are texts that agents and people may send and that databases handle badly.
var awkwardTexts = []string{
	"", `{}`, `null`, ` { "a" : 1 , "a" : 2 } `, "{\"command\":\"a\\u0000b\"}", "{\"a\":\"\x00\"}", "\x00", "\xff\xfe\x80", "\"\xed\xa0\x80\"",
	"\ufeff{}", "line\r\nbreak\u2028", `{"n":12345678901234567890.000,"e":1e400}`, "'; DROP TABLE requests; --", `\x00`, "𝄞 日本 ñ", "%s%n",
}

func exactBytes(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("BytesAreReturnedUnchanged", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		must(t, st.PutUser(ctx, account.User{UserID: "u1", Name: "Ada"}))
		for i, text := range awkwardTexts {
			r := bashRequest(id, "ls")
			r.ToolInput, r.PermissionSuggestions = json.RawMessage(text), json.RawMessage(text)
			r.InputHash = pending.HashInput(r.ToolInput)
			r.AskerRequestID, r.AskerToolUseID, r.BlockedPath = text, text, text
			openRequest(t, st, r)
			read, err := st.Request(ctx, r.RequestID)
			must(t, err)
			equal(t, fmt.Sprintf("input %q", text), read.ToolInput, r.ToolInput)
			equal(t, fmt.Sprintf("suggestions %q", text), read.PermissionSuggestions, r.PermissionSuggestions)
			equal(t, fmt.Sprintf("ids %q", text), []string{read.AskerRequestID, read.AskerToolUseID, read.BlockedPath}, []string{text, text, text})

			must(t, st.PutItems(ctx, id, []session.Item{{Key: text, At: begin, Kind: session.ItemText, Body: json.RawMessage(text)}}))
			page, err := st.Transcript(ctx, id, int64(i), 10)
			must(t, err)
			equal(t, fmt.Sprintf("item %q", text), []string{page.Items[0].Key, string(page.Items[0].Body)}, []string{text, text})

			m := message(id, text, i)
			_, err = st.QueueMessage(ctx, m)
			must(t, err)
			list, err := st.QueuedMessages(ctx, id)
			must(t, err)
			equal(t, fmt.Sprintf("message %q", text), list[len(list)-1].Text, text)

			n := session.Session{SessionID: uuid.NewString(), CWD: text, CreatedAt: begin}
			must(t, st.CreateSession(ctx, n))
			found, err := st.Session(ctx, n.SessionID)
			must(t, err)
			equal(t, fmt.Sprintf("folder %q", text), found.CWD, text)

			kept, err := st.SaveCommand(ctx, "u1", fmt.Sprint("c", i), []byte(text), begin)
			must(t, err)
			equal(t, fmt.Sprintf("ack %q", text), string(kept), text)
			ack, err := st.Command(ctx, "u1", fmt.Sprint("c", i))
			must(t, err)
			equal(t, fmt.Sprintf("stored ack %q", text), string(ack), text)
		}
	})

	// Text that is only displayed may be changed, but must never make a write fail, and must be the
	// same in every engine.
	s.run("InvalidTextIsSanitized", func(t *testing.T, st store.Store) {
		given, want := "a\x00b\xffc", "a\uFFFDb\uFFFDc"
		r := bashRequest(newSession(t, st), "ls")
		r.ToolName, r.AgentID, r.AgentType, r.Title, r.Description, r.DecisionReason = given, given, given, given, given, given
		r.Asker = given
		stored := openRequest(t, st, r)
		read, err := st.Request(ctx, r.RequestID)
		must(t, err)
		equal(t, "stored and read", read, stored)
		equal(t, "request", []string{read.ToolName, read.AgentID, read.AgentType, read.Title, read.Description, read.DecisionReason, read.Asker},
			[]string{want, want, want, want, want, want, want})

		res := approval(given)
		res.Actor = pending.Actor{UserID: given, Name: given, Device: given}
		res.Reason = given
		now := resolveRequest(t, st, r.RequestID, res)
		equal(t, "resolution", []any{now.Resolution.Actor, now.Resolution.Reason, now.Resolution.CommandID},
			[]any{pending.Actor{UserID: want, Name: want, Device: want}, want, want})
		again, err := st.Request(ctx, r.RequestID)
		must(t, err)
		equal(t, "resolution read", again, now)

		_, err = st.OrphanRequests(ctx, r.SessionID, given)
		must(t, err)
		must(t, st.CreateSession(ctx, session.Session{SessionID: uuid.NewString(), ProjectID: given, Title: given, Model: given,
			PermissionMode: given, OwnerID: given, RunnerID: given, CreatedAt: begin}))
		_, err = st.UpdateSession(ctx, r.SessionID, session.Patch{Title: &given, Model: &given, PermissionMode: &given})
		must(t, err)
		_, err = st.SaveProcess(ctx, session.ProcessState{SessionID: r.SessionID, State: session.Dead, Model: given, PermissionMode: given,
			ProcessID: given, Error: given, KillReason: given, Stuck: given, Throttled: given})
		must(t, err)
		must(t, st.SetLifecycle(ctx, r.SessionID, session.Lifecycle{EventType: given, PhaseName: given, PhaseNumber: given, At: begin}))
		p, err := st.ProcessState(ctx, r.SessionID)
		must(t, err)
		equal(t, "lifecycle", p.Lifecycle, &session.Lifecycle{EventType: want, PhaseName: want, PhaseNumber: want, At: begin})
		token := agentToken(r.SessionID, 1)
		token.Name = given
		must(t, st.AddAgentToken(ctx, token))
		equal(t, "state", []string{p.Title, p.Model, p.Error, p.KillReason, p.Stuck, p.Throttled}, []string{want, want, want, want, want, want})
		must(t, st.PutItems(ctx, r.SessionID, []session.Item{{Key: "k", Kind: session.ItemText, AgentID: given}}))
		must(t, st.PutUser(ctx, account.User{UserID: "u1", Name: given}))
	})

	s.run("NullDiffersFromEmpty", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		for _, input := range []json.RawMessage{nil, {}} {
			r := bashRequest(id, "ls")
			r.ToolInput, r.PermissionSuggestions = input, input
			equal(t, "stored", openRequest(t, st, r), r)
			read, err := st.Request(ctx, r.RequestID)
			must(t, err)
			equal(t, "read", read, r)
		}
	})

	s.run("TwentyMegabytes", func(t *testing.T, st store.Store) {
		if os.Getenv("SAYSO_TEST_ALL") == "" {
			t.Skip("run by make test-all: it takes a tenth of the time of all others")
		}
		random := rand.NewChaCha8([32]byte{1})
		noise := make([]byte, 20<<20)
		if _, err := random.Read(noise); err != nil {
			t.Fatal(err)
		}
		r := bashRequest(newSession(t, st), "ls")
		r.ToolInput = noise
		r.InputHash = pending.HashInput(noise)
		openRequest(t, st, r)
		res := approval("c1")
		res.Answer.UpdatedInput = json.RawMessage(quote(string(bytes.Repeat([]byte("x"), 20<<20))))
		now := resolveRequest(t, st, r.RequestID, res)
		if !bytes.Equal(now.ToolInput, noise) || !bytes.Equal(now.Resolution.Answer.UpdatedInput, res.Answer.UpdatedInput) {
			t.Fatal("the bytes came back changed")
		}
		body := json.RawMessage(quote(string(bytes.Repeat([]byte("y"), 20<<20))))
		must(t, st.PutItems(ctx, r.SessionID, []session.Item{{Key: "big", At: begin, Kind: session.ItemText, Body: body}}))
		page, err := st.Transcript(ctx, r.SessionID, 0, 1)
		must(t, err)
		if !bytes.Equal(page.Items[0].Body, body) {
			t.Fatal("the item came back changed")
		}
	})

	s.run("ExtremeNumbers", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		p := session.ProcessState{SessionID: id, State: session.Dead, Memory: 1<<64 - 1}
		p.CPU /= p.CPU // NaN
		_, err := st.SaveProcess(ctx, p)
		must(t, err)
		read, err := st.ProcessState(ctx, id)
		must(t, err)
		equal(t, "figures", []any{read.CPU, read.Memory}, []any{0.0, uint64(1<<63 - 1)})
	})
}
