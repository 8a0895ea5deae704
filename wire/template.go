package wire

import (
	"github.com/sayso-dev/sayso/internal/account"
)

// Template is a saved reply of a person.
type Template struct {
	TemplateID string                `json:"template_id"`
	Name       string                `json:"name,omitempty"`                             // of one saved by the person; absent for one learned from their answers
	Place      account.TemplatePlace `json:"place" ts:"'reason' | 'answer' | 'message'"` // where it was used
	Text       string                `json:"text"`
	Uses       int                   `json:"uses"`
	UsedAt     float64               `json:"used_at"`
}

// TemplateList is the response to GET /api/templates, most recently used first.
type TemplateList struct {
	Templates []Template `json:"templates"`
}

// TemplateText creates or changes a saved reply. Without a name, it counts as learned: as a
// reason for a denial unless Place says otherwise, and it keeps its name.
type TemplateText struct {
	Text  string                `json:"text" validate:"required,max=2000"`
	Name  *string               `json:"name,omitempty" validate:"omitempty,max=60"`
	Place account.TemplatePlace `json:"place,omitempty" validate:"omitempty,oneof=reason answer message"`
}
