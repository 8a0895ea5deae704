package wire

import (
	"github.com/sayso-dev/sayso/internal/account"
)

// Template is something that a person said to Claude and may say again.
type Template struct {
	TemplateID string                `json:"template_id"`
	Name       string                `json:"name,omitempty"`                             // of one made by hand; absent: learned from what was said
	Place      account.TemplatePlace `json:"place" ts:"'reason' | 'answer' | 'message'"` // where it was said
	Text       string                `json:"text"`
	Uses       int                   `json:"uses"`
	UsedAt     float64               `json:"used_at"`
}

// TemplateList is what GET /api/templates answers, the last used first.
type TemplateList struct {
	Templates []Template `json:"templates"`
}

// TemplateText is a new template, or another text and name for one. Without a name
// it counts as said, for a refusal unless another place is given, and keeps the
// name it has.
type TemplateText struct {
	Text  string                `json:"text" validate:"required,max=2000"`
	Name  *string               `json:"name,omitempty" validate:"omitempty,max=60"`
	Place account.TemplatePlace `json:"place,omitempty" validate:"omitempty,oneof=reason answer message"`
}
