package wire

// SettingKind is the format of a setting's value.
type SettingKind string

// The kinds of settings.
const (
	SettingText     SettingKind = "text"
	SettingListed   SettingKind = "list"     // one per line
	SettingSwitch   SettingKind = "switch"   // true or false
	SettingChoice   SettingKind = "choice"   // one of Choices
	SettingDays     SettingKind = "days"     // a number; 0 for never
	SettingNumber   SettingKind = "number"   // 0 for no limit
	SettingDuration SettingKind = "duration" // such as 1h30m0s; 0s for no limit
)

// SettingInfo describes one setting of the server.
type SettingInfo struct {
	Name       string      `json:"name"`
	Kind       SettingKind `json:"kind"`
	Value      string      `json:"value"`
	Title      string      `json:"title"`
	Words      string      `json:"words"` // its description
	Choices    []string    `json:"choices,omitempty"`
	Changeable bool        `json:"changeable"` // by admins, at run time
	ChangedBy  *string     `json:"changed_by"` // who last changed it
	ChangedAt  *float64    `json:"changed_at"`
}

// SettingList lists the settings of the server.
type SettingList struct {
	Settings []SettingInfo `json:"settings"`
}

// SettingChange changes one setting.
type SettingChange struct {
	Name  string `json:"name" validate:"required,max=100"`
	Value string `json:"value" validate:"max=1000"`
}
