package wire

// NoticeCode says what stands in the way of everything that must be stored.
type NoticeCode string

// What can stand in the way.
const (
	NoNotice    NoticeCode = "none"
	ReadOnly    NoticeCode = "read_only"   // the disk takes no writes
	Unavailable NoticeCode = "unavailable" // the database does not answer
	Broken      NoticeCode = "broken"      // the disk failed; only a restart helps
)

// notices are the sentences of each code.
var notices = map[NoticeCode]string{
	ReadOnly:    "The disk of the server is full or takes no writes. Until there is space nothing can be answered, sent or started; sessions wait, nothing is lost, and a session can still be ended.",
	Unavailable: "The database of the server does not answer. Until it does nothing can be answered, sent or started; sessions wait, and a session can still be ended.",
	Broken:      "The disk failed under the database of the server, so nothing more is stored until the server is restarted on a sound disk. Sessions wait, and a session can still be ended.",
}

// NewNotice returns the frame of a code.
func NewNotice(code NoticeCode) Notice {
	return Notice{Type: "notice", Code: code, Message: notices[code]}
}
