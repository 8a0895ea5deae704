package sqlstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/pending"
)

// heldColumn is the column of a held answer.
type heldColumn struct {
	UserID    string         `json:"by_user_id"`
	Name      string         `json:"by_name"`
	Device    string         `json:"by_device"`
	Address   string         `json:"address,omitempty"`
	At        int64          `json:"at"`
	Until     int64          `json:"until"`
	CommandID string         `json:"command_id"`
	Answer    pending.Answer `json:"answer"`
	Dropped   string         `json:"dropped,omitempty"`
	// CredentialID is absent in rows that are older than it.
	CredentialID string `json:"by_credential_id,omitempty"`
}

func (c *heldColumn) held() *pending.Held {
	return &pending.Held{
		Actor: pending.Actor{UserID: c.UserID, Name: c.Name, Device: c.Device, Address: c.Address},
		At:    Time(c.At), Until: Time(c.Until), CommandID: c.CommandID, Answer: c.Answer, Dropped: c.Dropped, CredentialID: c.CredentialID,
	}
}

// EncodeHeld is the column of a held answer.
func EncodeHeld(h pending.Held) ([]byte, error) {
	text, err := json.Marshal(heldColumn{
		UserID: SanitizeText(h.Actor.UserID), Name: SanitizeText(h.Actor.Name), Device: SanitizeText(h.Actor.Device), Address: SanitizeText(h.Actor.Address),
		At: Micros(h.At), Until: Micros(h.Until), CommandID: SanitizeText(h.CommandID), Answer: h.Answer, Dropped: SanitizeText(h.Dropped), CredentialID: SanitizeText(h.CredentialID),
	})
	if err != nil {
		return nil, fmt.Errorf("held answer: %w", err)
	}
	return text, nil
}

// UndoneCommand is a command as it stands in the column of those that were taken back.
func UndoneCommand(commandID string) string { return " " + SanitizeText(commandID) + " " }

// maxUndone bounds the commands that a request remembers: more than anybody
// takes back of one, and few enough for every read.
const maxUndone = 64

// UndoneCommands is that column with one command more.
func UndoneCommands(r pending.Request, commandID string) string {
	list := append(slices.Clone(r.Undone), SanitizeText(commandID))
	list = list[max(0, len(list)-maxUndone):]
	return " " + strings.Join(list, "  ") + " "
}

// ReleasedHold is the column of what was held after the hold of a command has ended; nil
// when it was taken back. ok is false when no such hold stands.
func ReleasedHold(r pending.Request, commandID, why string) (text []byte, ok bool, err error) {
	if r.Status.Final() || !r.Held.Active() || r.Held.CommandID != commandID {
		return nil, false, nil
	}
	if why == "" {
		return nil, true, nil
	}
	h := *r.Held
	h.Dropped = why
	text, err = EncodeHeld(h)
	return text, true, err
}

// ResolveGuards is what a resolution asks of the row beside its being answerable: the
// command that must be held, "" when none may be, "*" when it makes no difference;
// and what must not be among those that were taken back, "" for nothing.
func ResolveGuards(res pending.Resolution) (held, back string) {
	if res.Overrules != nil {
		held = SanitizeText(res.Overrules.CommandID)
	}
	switch {
	case !Answers(res.Status):
		return "*", ""
	case !res.HeldSince.IsZero():
		return SanitizeText(res.CommandID), ""
	case res.CommandID == "":
		return held, ""
	default:
		return held, UndoneCommand(res.CommandID)
	}
}
