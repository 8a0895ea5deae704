package wire

// Preferences are what a person chose for themselves; they follow to every device.
type Preferences struct {
	Keys       map[string]string `json:"keys"`        // what to press, by the name of what it does, where it is not as it comes
	SingleKeys bool              `json:"single_keys"` // whether keys of one character do anything
	Language   string            `json:"language"`    // that the app was shown in last; that of alerts, too
}

// PreferencesChange holds what is to be another now; what is absent stays.
type PreferencesChange struct {
	Keys       map[string]string `json:"keys,omitempty" validate:"omitempty,max=100,dive,keys,min=1,max=40,endkeys,max=40"`
	SingleKeys *bool             `json:"single_keys,omitempty"`
	Language   *string           `json:"language,omitempty" validate:"omitempty,max=16"`
}
