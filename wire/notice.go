package wire

import "github.com/sayso-dev/sayso/internal/statement"

// NoticeCode is the reason why the store rejects writes.
type NoticeCode string

// The reasons of a notice.
const (
	NoNotice    NoticeCode = "none"
	ReadOnly    NoticeCode = "read_only"   // the disk accepts no writes
	Unavailable NoticeCode = "unavailable" // the database does not answer
	Broken      NoticeCode = "broken"      // the disk failed; only a restart helps
)

// notices maps each code to its reason in the table of statements.
var notices = map[NoticeCode]string{
	ReadOnly:    "store_read_only",
	Unavailable: "store_unavailable",
	Broken:      "store_broken",
}

// NewNotice returns the frame for a code.
func NewNotice(code NoticeCode) Notice {
	n := Notice{Type: "notice", Code: code}
	if reason, ok := notices[code]; ok {
		n.Message = statement.New(reason)
		n.Reasons = statement.Reasons("message", n.Message)
	}
	return n
}
