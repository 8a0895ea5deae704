package claude

import "encoding/json"

// PermissionUpdate is a change of permissions, as suggested by the CLI ([ToolRequest.Suggestions]) and
// granted by [ToolDecision.Grant].
type PermissionUpdate struct {
	Type        string           `json:"type"`                  // addRules, replaceRules, removeRules, setMode, addDirectories or removeDirectories
	Rules       []RuleValue      `json:"rules,omitempty"`       // of addRules, replaceRules and removeRules
	Behavior    string           `json:"behavior,omitempty"`    // of rules: allow, deny or ask
	Mode        string           `json:"mode,omitempty"`        // of setMode
	Directories []string         `json:"directories,omitempty"` // of addDirectories and removeDirectories
	Destination RulesDestination `json:"destination"`
}

// RuleValue is a permission rule.
type RuleValue struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

// RulesDestination is where a [PermissionUpdate] is stored.
type RulesDestination string

// Destinations of a [PermissionUpdate]. The CLI often suggests LocalSettings, a file in the folder; a
// host that does not want to write there changes it to ForSession.
const (
	ForSession      RulesDestination = "session" // until the CLI ends
	LocalSettings   RulesDestination = "localSettings"
	ProjectSettings RulesDestination = "projectSettings"
	UserSettings    RulesDestination = "userSettings"
)

// Suggestions returns the permissions that the CLI suggests granting, nil for none.
func (r *ToolRequest) Suggestions() []PermissionUpdate {
	var list []PermissionUpdate
	if json.Unmarshal(r.PermissionSuggestions, &list) != nil {
		return nil // suggestions of another shape cannot be granted
	}
	return list
}
