package wire

import "github.com/sayso-dev/sayso/internal/statement"

// Reasons holds, for texts of an object that are no errors, their reasons and parameters,
// by the names of the fields. A text without a reason is shown as it is.
type Reasons = map[string]statement.Reason
