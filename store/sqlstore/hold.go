package sqlstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/pending"
)

// heldColumn is the JSON of the column held.
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
	// CredentialID is missing in rows written by older versions.
	CredentialID string `json:"by_credential_id,omitempty"`
}

func (c *heldColumn) held() *pending.Held {
	return &pending.Held{
		Actor: pending.Actor{UserID: c.UserID, Name: c.Name, Device: c.Device, Address: c.Address},
		At:    Time(c.At), Until: Time(c.Until), CommandID: c.CommandID, Answer: c.Answer, Dropped: c.Dropped, CredentialID: c.CredentialID,
	}
}

// EncodeHeld returns the value of the column held.
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

// UndoneCommand returns the form in which the column of undone commands stores one.
func UndoneCommand(commandID string) string { return " " + SanitizeText(commandID) + " " }

// maxUndone bounds the undone commands stored for a request. Nobody undoes more, and few enough are
// read with every row.
const maxUndone = 64

// UndoneCommands returns the column of r with one more command.
func UndoneCommands(r pending.Request, commandID string) string {
	list := append(slices.Clone(r.Undone), SanitizeText(commandID))
	list = list[max(0, len(list)-maxUndone):]
	return " " + strings.Join(list, "  ") + " "
}

// ReleasedHold returns the column held after a command's hold has ended: nil if the answer was
// undone (why is empty), otherwise the answer with the reason why it was dropped. ok is false if
// the command holds no answer now.
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

// ResolveGuards returns the conditions of a resolution, in addition to an answerable request. held is
// the command whose answer must be held: "" requires that no answer is held, "*" allows any state.
// notUndone is a command that must not be among the undone commands; "" sets no condition.
func ResolveGuards(res pending.Resolution) (held, notUndone string) {
	if res.Overrules != nil {
		held = SanitizeText(res.Overrules.CommandID)
	}
	switch {
	case !IsDecision(res.Status):
		return "*", ""
	case !res.HeldSince.IsZero():
		return SanitizeText(res.CommandID), ""
	case res.CommandID == "":
		return held, ""
	default:
		return held, UndoneCommand(res.CommandID)
	}
}
