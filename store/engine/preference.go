package engine

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/account"
)

// PreferencesValues are what a change of preferences stores; nil for what stays.
func PreferencesValues(c account.PreferencesChange) (keys []byte, single, language any, err error) {
	if c.Keys != nil {
		if keys, err = json.Marshal(c.Keys); err != nil {
			return nil, nil, nil, err
		}
	}
	if c.SingleKeys != nil {
		single = *c.SingleKeys
	}
	if c.Language != nil {
		language = Shown(*c.Language)
	}
	return keys, single, language, nil
}
