package sqlitetest

import (
	"encoding/binary"
	"errors"
	"net/url"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Ledger counts what is done to one database, at SQLite itself: whatever runs a statement,
// it is seen. Nothing depends on time.
type Ledger struct {
	t    testing.TB
	path string

	mu         sync.Mutex
	statements []string
	frames     int // of the log that were counted
}

// Cost is what was done to a database.
type Cost struct {
	Statements   []string // in order, as SQLite got them; those of its own full-text index too
	Transactions int      // that wrote
	Bytes        int      // that were written to the log
}

// ledgers are those of the tests under way, by the path of the database.
var ledgers sync.Map

var hook = sync.OnceFunc(func() { sqlite.RegisterConnectionHook(trace) })

// NewLedger counts for the connections to a database that are opened from now on, until the
// test ends. It must be called before the database is opened, and the log must not be
// moved into the database between two calls of Take.
func NewLedger(t testing.TB, path string) *Ledger {
	t.Helper()
	hook()
	l := &Ledger{t: t, path: path}
	ledgers.Store(path, l)
	t.Cleanup(func() { ledgers.Delete(path) })
	return l
}

// Take returns what was done since it was called last.
func (l *Ledger) Take() Cost {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	log, err := os.ReadFile(l.path + "-wal")
	if err != nil {
		l.t.Fatal(err)
	}
	frames, size := validFrames(log)
	if len(frames) < l.frames {
		l.t.Fatal("the log began anew, so what was written is not known")
	}
	cost := Cost{Statements: l.statements, Bytes: (len(frames) - l.frames) * size}
	for _, ends := range frames[l.frames:] {
		if ends {
			cost.Transactions++
		}
	}
	l.statements, l.frames = nil, len(frames)
	return cost
}

// validFrames returns for each frame of a log whether a transaction ends with it, and the
// bytes of a frame. The format is that of https://www.sqlite.org/fileformat2.html#walformat:
// frames that an earlier log left behind have another salt.
func validFrames(log []byte) (ends []bool, size int) {
	const header, frameHeader = 32, 24
	if len(log) < header {
		return nil, 0
	}
	size = frameHeader + int(binary.BigEndian.Uint32(log[8:]))
	salt := string(log[16:24])
	for at := header; at+size <= len(log) && string(log[at+8:at+16]) == salt; at += size {
		ends = append(ends, binary.BigEndian.Uint32(log[at+4:]) != 0)
	}
	return ends, size
}

// trace has SQLite report each statement on a connection to a database that has a ledger.
func trace(conn sqlite.ExecQuerierContext, dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil // no address of ours
	}
	found, ok := ledgers.Load(u.Path)
	if !ok {
		return nil
	}
	// The driver has no call for this, so its handles are read where it keeps them.
	fields := reflect.ValueOf(conn).Elem()
	db, tls := fields.FieldByName("db"), fields.FieldByName("tls")
	if !db.IsValid() || !tls.IsValid() {
		return errors.New("sqlitetest: the driver keeps its handles elsewhere now")
	}
	handle := uintptr(db.Uint())
	traced.Store(handle, found)
	// What is declared is a pointer to a pointer to code, which does not move.
	function := report
	lib.Xsqlite3_trace_v2((*libc.TLS)(tls.UnsafePointer()), handle, lib.SQLITE_TRACE_STMT, *(*uintptr)(unsafe.Pointer(&function)), handle)
	return nil
}

// traced are ledgers by the handle of each of their connections.
var traced sync.Map

// report is what SQLite calls with the text of each statement that it begins.
func report(_ *libc.TLS, _ uint32, handle, _, text uintptr) int32 {
	if l, ok := traced.Load(handle); ok {
		l.(*Ledger).note(libc.GoString(text))
	}
	return 0
}

func (l *Ledger) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statements = append(l.statements, strings.Join(strings.Fields(text), " "))
}
