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

// Ledger counts the statements and bytes that reach one database, by hooks in SQLite itself. It
// therefore counts every statement, no matter which code runs it, and does not depend on time.
type Ledger struct {
	t    testing.TB
	path string

	mu         sync.Mutex
	statements []string
	frames     int // frames of the log counted so far
}

// Cost is the work of a database between two calls of [Ledger.Take].
type Cost struct {
	Statements   []string // in order, as SQLite received them, including those of its full-text index
	Transactions int      // transactions that wrote
	Bytes        int      // bytes written to the log
}

// ledgers contains the ledgers of running tests, by the path of their database.
var ledgers sync.Map

var hook = sync.OnceFunc(func() { sqlite.RegisterConnectionHook(trace) })

// NewLedger returns a ledger that counts the work of all connections to a database that are opened
// later, until the test ends. Call it before opening the database. The log must not be moved into the
// database between two calls of Take.
func NewLedger(t testing.TB, path string) *Ledger {
	t.Helper()
	hook()
	l := &Ledger{t: t, path: path}
	ledgers.Store(path, l)
	t.Cleanup(func() { ledgers.Delete(path) })
	return l
}

// Take returns the cost since the last call of Take.
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

// validFrames returns for each valid frame of a log whether it ends a transaction, and the size of
// a frame in bytes. Frames left by an earlier log have another salt. The format:
// https://www.sqlite.org/fileformat2.html#walformat.
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

// trace makes SQLite report each statement on a connection, if its database has a ledger.
func trace(conn sqlite.ExecQuerierContext, dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil // not an address of this package
	}
	found, ok := ledgers.Load(u.Path)
	if !ok {
		return nil
	}
	// The driver does not export its handles, so they are read from its fields.
	fields := reflect.ValueOf(conn).Elem()
	db, tls := fields.FieldByName("db"), fields.FieldByName("tls")
	if !db.IsValid() || !tls.IsValid() {
		return errors.New("sqlitetest: the driver keeps its handles elsewhere now")
	}
	handle := uintptr(db.Uint())
	traced.Store(handle, found)
	// SQLite expects a pointer to code, which is what a function value of Go points to.
	function := report
	lib.Xsqlite3_trace_v2((*libc.TLS)(tls.UnsafePointer()), handle, lib.SQLITE_TRACE_STMT, *(*uintptr)(unsafe.Pointer(&function)), handle)
	return nil
}

// traced maps the handle of each connection to its ledger.
var traced sync.Map

// report is called by SQLite with the text of each statement that starts.
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
