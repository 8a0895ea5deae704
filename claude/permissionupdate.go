package claude

import "encoding/json"

// PermissionUpdate is a change of the permissions, as the CLI suggests it and [ToolDecision.Grant]
// grants it.
type PermissionUpdate struct {
	Type        string           `json:"type"`                  // addRules, replaceRules, removeRules, setMode, addDirectories or removeDirectories
	Rules       []RuleValue      `json:"rules,omitempty"`       // of the three for rules
	Behavior    string           `json:"behavior,omitempty"`    // of rules: allow, deny or ask
	Mode        string           `json:"mode,omitempty"`        // of setMode
	Directories []string         `json:"directories,omitempty"` // of the two for directories
	Destination RulesDestination `json:"destination"`
}

// RuleValue is a permission rule.
type RuleValue struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

// RulesDestination is where a [PermissionUpdate] is stored.
type RulesDestination string

// The destinations. What the CLI suggests is often for LocalSettings, a file in the folder: a host
// that does not want to write there changes it to ForSession.
const (
	ForSession      RulesDestination = "session" // until the CLI ends
	LocalSettings   RulesDestination = "localSettings"
	ProjectSettings RulesDestination = "projectSettings"
	UserSettings    RulesDestination = "userSettings"
)

// Suggestions returns the permissions that the CLI suggests to grant, nil for none.
func (r *ToolRequest) Suggestions() []PermissionUpdate {
	var list []PermissionUpdate
	if json.Unmarshal(r.PermissionSuggestions, &list) != nil {
		return nil // of another shape they cannot be granted
	}
	return list
}
