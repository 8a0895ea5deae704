package wire

// Preferences are a person's settings, which apply on all of their devices.
type Preferences struct {
	Keys       map[string]string `json:"keys"`        // changed shortcuts, by the name of the command
	SingleKeys bool              `json:"single_keys"` // whether single-key shortcuts are on
	Language   string            `json:"language"`    // of the app when it was last shown, and of alerts
}

// PreferencesChange contains the new values; absent fields stay unchanged.
type PreferencesChange struct {
	Keys       map[string]string `json:"keys,omitempty" validate:"omitempty,max=100,dive,keys,min=1,max=40,endkeys,max=40"`
	SingleKeys *bool             `json:"single_keys,omitempty"`
	Language   *string           `json:"language,omitempty" validate:"omitempty,max=16"`
}
