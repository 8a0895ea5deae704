package wire

// Catalog lists what the CLI of a session offers. The lists are empty while no CLI runs.
type Catalog struct {
	Running    bool             `json:"running"`
	CLIVersion string           `json:"cli_version"` // "" if unknown
	Commands   []CatalogCommand `json:"commands"`
	Agents     []CatalogAgent   `json:"agents"`
	Models     []CatalogModel   `json:"models"`
}

// CatalogCommand is a slash command or a skill.
type CatalogCommand struct {
	Name         string   `json:"name"` // without the slash
	Description  string   `json:"description"`
	ArgumentHint string   `json:"argument_hint"`
	Aliases      []string `json:"aliases"`
	Builtin      bool     `json:"builtin"` // part of Claude Code
}

// CatalogAgent is a kind of subagent.
type CatalogAgent struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// CatalogModel is a model that can be chosen.
type CatalogModel struct {
	Value         string `json:"value"`          // for model
	ResolvedModel string `json:"resolved_model"` // its full name; "" if unknown
	DisplayName   string `json:"display_name"`
	Description   string `json:"description"`
}

// ModelList lists the models that the server's latest CLI offered.
type ModelList struct {
	CLIVersion string         `json:"cli_version"` // "" if unknown
	Models     []CatalogModel `json:"models"`
}
