package wire

// SettingKind says how the value of a setting is read.
type SettingKind string

// The kinds of settings.
const (
	SettingText     SettingKind = "text"
	SettingListed   SettingKind = "list"     // one on a line
	SettingSwitch   SettingKind = "switch"   // true or false
	SettingChoice   SettingKind = "choice"   // one of Choices
	SettingDays     SettingKind = "days"     // a number; 0 for never
	SettingNumber   SettingKind = "number"   // from 0 on; 0 for no limit
	SettingDuration SettingKind = "duration" // such as 1h30m0s; 0s for no limit
)

// SettingInfo is one thing that the server runs with.
type SettingInfo struct {
	Name       string      `json:"name"`
	Kind       SettingKind `json:"kind"`
	Value      string      `json:"value"`
	Title      string      `json:"title"`
	Words      string      `json:"words"` // what it does, a sentence
	Choices    []string    `json:"choices,omitempty"`
	Changeable bool        `json:"changeable"` // here, while the server runs
	ChangedBy  *string     `json:"changed_by"` // who did so last
	ChangedAt  *float64    `json:"changed_at"`
}

// SettingList holds what the server runs with.
type SettingList struct {
	Settings []SettingInfo `json:"settings"`
}

// SettingChange changes one setting.
type SettingChange struct {
	Name  string `json:"name" validate:"required,max=100"`
	Value string `json:"value" validate:"max=1000"`
}
