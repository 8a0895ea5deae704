package wire

import "github.com/sayso-dev/sayso/internal/statement"

// Reasons maps field names of an object to the reasons and parameters of texts that are not
// errors. A text without a reason is shown unchanged.
type Reasons = map[string]statement.Reason
