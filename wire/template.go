package wire

import (
	"github.com/sayso-dev/sayso/internal/account"
)

// Template is a saved reply of a person.
type Template struct {
	TemplateID string                `json:"template_id"`
	Name       string                `json:"name,omitempty"`                             // absent for a reply learned from the person's answers
	Place      account.TemplatePlace `json:"place" ts:"'reason' | 'answer' | 'message'"` // where it was used
	Text       string                `json:"text"`
	Uses       int                   `json:"uses"`
	UsedAt     float64               `json:"used_at"`
}

// TemplateList is the response to GET /api/templates, most recently used first.
type TemplateList struct {
	Templates []Template `json:"templates"`
}

// TemplateText creates or changes a saved reply. A reply created without a name counts as
// learned. A reply changed without a name keeps its name. The default of Place is reason, the
// reason for a denial.
type TemplateText struct {
	Text  string                `json:"text" validate:"required,max=2000"`
	Name  *string               `json:"name,omitempty" validate:"omitempty,max=60"`
	Place account.TemplatePlace `json:"place,omitempty" validate:"omitempty,oneof=reason answer message"`
}
