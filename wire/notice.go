package wire

import "github.com/sayso-dev/sayso/internal/statement"

// NoticeCode says what stands in the way of everything that must be stored.
type NoticeCode string

// What can stand in the way.
const (
	NoNotice    NoticeCode = "none"
	ReadOnly    NoticeCode = "read_only"   // the disk takes no writes
	Unavailable NoticeCode = "unavailable" // the database does not answer
	Broken      NoticeCode = "broken"      // the disk failed; only a restart helps
)

// notices are the reasons of each code, in the table of statements.
var notices = map[NoticeCode]string{
	ReadOnly:    "store_read_only",
	Unavailable: "store_unavailable",
	Broken:      "store_broken",
}

// NewNotice returns the frame of a code.
func NewNotice(code NoticeCode) Notice {
	n := Notice{Type: "notice", Code: code}
	if reason, ok := notices[code]; ok {
		n.Message = statement.New(reason)
		n.Reasons = statement.Reasons("message", n.Message)
	}
	return n
}
