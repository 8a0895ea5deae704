package postgrestest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Proxy stands between a client and its database and knows their protocol well enough
// to let any one statement fail.
type Proxy struct {
	listener net.Listener
	dsn      string
	work     sync.WaitGroup

	mu     sync.Mutex // protects following
	target string     // the socket of the database
	delay  time.Duration
	fault  *Fault
	seen   int // statements that the fault is about
	lines  map[*line]bool
}

// An Effect is what happens to a statement.
type Effect int

const (
	// Refuse has the database roll its transaction back; the client is told the
	// SQLSTATE of the fault.
	Refuse Effect = iota
	// Cut ends the connection, and the statement does not reach the database.
	Cut
	// LoseReply ends the connection once the database has done all that was sent with
	// the statement.
	LoseReply
	// StallRequest drops the statement, and what comes after it, without a word, as a
	// network does that loses packets.
	StallRequest
	// StallReply is LoseReply without a word.
	StallReply
)

// A Fault is what happens to one statement.
type Fault struct {
	// Kind is the first word of the statement, or the word of what it changes: SELECT,
	// INSERT, UPDATE, DELETE. COMMIT is the end of a transaction that may change
	// something, SET what makes it durable. "" is any but SET and COMMIT.
	Kind string
	// Nth counts from one on, from [Proxy.Fail] on; 0 is the first.
	Nth int
	// Holding is text that the statement or one of its values holds.
	Holding string
	Effect  Effect
	Code    string // of Refuse
}

// NewProxy starts a proxy in front of a database of this package, until the test ends.
func NewProxy(t testing.TB, dsn string) *Proxy {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	p := &Proxy{listener: listener, target: query.Get("host") + socketName, lines: map[*line]bool{}}
	query.Set("host", "127.0.0.1")
	query.Set("port", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	query.Set("sslmode", "disable")
	address.RawQuery = query.Encode()
	p.dsn = address.String()
	p.work.Go(p.accept)
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		p.Hangup()
		p.work.Wait()
	})
	return p
}

// DSN returns the address of the database by way of the proxy.
func (p *Proxy) DSN() string { return p.dsn }

// Fail has one statement fail, and forgets what was to fail before.
func (p *Proxy) Fail(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.Nth = max(1, f.Nth)
	p.fault, p.seen = &f, 0
}

// Failed reports whether the statement has come, and has nothing fail any more.
func (p *Proxy) Failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed := p.fault == nil
	p.fault = nil
	return failed
}

// Delay has the database answer so much later.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Away lets nobody connect any more, until the function that it returns is called.
func (p *Proxy) Away() (back func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	home := p.target
	p.target = os.DevNull
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.target = home
	}
}

// Hangup ends every connection.
func (p *Proxy) Hangup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.lines {
		l.end()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		server, err := net.Dial("unix", target)
		if err != nil {
			client.Close()
			continue
		}
		l := &line{proxy: p, client: client, server: server, statements: map[string]statement{}}
		p.mu.Lock()
		p.lines[l] = true
		p.mu.Unlock()
		var ways sync.WaitGroup
		ways.Go(l.requests)
		ways.Go(l.replies)
		p.work.Go(func() {
			ways.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.lines, l)
		})
	}
}

// hit returns the fault of a statement, nil for none.
func (p *Proxy) hit(s statement, message []byte) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fault
	switch {
	case f == nil, s.kind == "", f.Kind != s.kind && (f.Kind != "" || s.kind == "SET" || s.kind == "COMMIT"),
		!strings.Contains(s.text, f.Holding) && !bytes.Contains(message, []byte(f.Holding)):
		return nil
	}
	if p.seen++; p.seen < f.Nth {
		return nil
	}
	p.fault = nil
	return f
}

type statement struct{ kind, text string }

// A line is one connection of a client.
type line struct {
	proxy          *Proxy
	client, server net.Conn
	statements     map[string]statement // by name; of requests alone
	writes         bool                 // the transaction may change something; of requests alone

	mu    sync.Mutex // protects following
	fault *Fault     // that the reply is to show
}

// end closes both connections; closing one twice does nothing.
func (l *line) end() {
	l.client.Close()
	l.server.Close()
}

// missing names a prepared statement that no client has.
const missing = "no such statement, by order of a test"

// requests forwards what the client says.
func (l *line) requests() {
	defer l.end()
	in, out := bufio.NewReader(l.client), bufio.NewWriter(l.server)
	first := make([]byte, 4) // the length of a message that has no type
	if _, err := io.ReadFull(in, first); err != nil {
		return
	}
	rest := make([]byte, binary.BigEndian.Uint32(first)-4)
	if _, err := io.ReadFull(in, rest); err != nil {
		return
	}
	if _, err := out.Write(append(first, rest...)); err != nil || out.Flush() != nil {
		return
	}
	for {
		message, err := next(in)
		if err != nil {
			return
		}
		if fault := l.proxy.hit(l.runs(message), message); fault != nil {
			switch fault.Effect {
			case Cut:
				return
			case StallRequest:
				_, _ = io.Copy(io.Discard, in) // until one of the two gives up
				return
			case Refuse:
				message = refusing(message)
			}
			l.mu.Lock()
			l.fault = fault
			l.mu.Unlock()
		}
		if _, err := out.Write(message); err != nil {
			return
		}
		if in.Buffered() > 0 {
			continue
		}
		l.proxy.mu.Lock()
		delay := l.proxy.delay
		l.proxy.mu.Unlock()
		time.Sleep(delay)
		if out.Flush() != nil {
			return
		}
	}
}

// replies forwards what the database says.
func (l *line) replies() {
	defer l.end()
	in, out := bufio.NewReader(l.server), bufio.NewWriter(l.client)
	for {
		message, err := next(in)
		if err != nil {
			return
		}
		l.mu.Lock()
		fault := l.fault
		if message[0] == readyForQuery {
			l.fault = nil
		}
		l.mu.Unlock()
		switch {
		case fault == nil:
		case fault.Effect == Refuse:
			if message[0] == errorResponse && bytes.Contains(message, []byte(missing)) {
				said := pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: fault.Code, Message: "by order of a test"}
				if message, err = said.Encode(nil); err != nil {
					return
				}
			}
		case message[0] == readyForQuery && fault.Effect == LoseReply:
			return
		case message[0] == readyForQuery:
			_, _ = io.Copy(io.Discard, in)
			return
		default:
			continue
		}
		if _, err := out.Write(message); err != nil {
			return
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

// The types of the messages that matter.
const (
	parse, bind, query, syncing  = 'P', 'B', 'Q', 'S'
	errorResponse, readyForQuery = 'E', 'Z'
)

// next reads a message, its type and length included.
func next(in *bufio.Reader) ([]byte, error) {
	const header = 5
	message := make([]byte, header)
	if _, err := io.ReadFull(in, message); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(message[1:]) + 1
	if length < header {
		return nil, errors.New("a message that is shorter than its header")
	}
	message = append(message, make([]byte, length-header)...)
	_, err := io.ReadFull(in, message[header:])
	return message, err
}

// refusing has the database fail in the place of a message, or before it where that is
// the end of a transaction.
func refusing(message []byte) []byte {
	if message[0] == query {
		text, err := (&pgproto3.Query{String: `EXECUTE "` + missing + `"`}).Encode(nil)
		if err != nil {
			panic(err)
		}
		return text
	}
	text, err := (&pgproto3.Bind{PreparedStatement: missing}).Encode(nil)
	if err != nil {
		panic(err)
	}
	if message[0] == syncing {
		text = append(text, message...)
	}
	return text
}

// runs returns the statement that a message runs; it has no kind when it runs none.
func (l *line) runs(message []byte) (s statement) {
	const header = 5
	switch message[0] {
	case parse:
		var m pgproto3.Parse
		if m.Decode(message[header:]) == nil {
			l.statements[m.Name] = statement{kindOf(m.Query), m.Query}
		}
	case bind:
		var m pgproto3.Bind
		if m.Decode(message[header:]) == nil {
			s = l.statements[m.PreparedStatement]
		}
		l.writes = l.writes || s.kind == "SET"
	case query:
		text := string(bytes.TrimRight(message[header:], "\x00"))
		s = statement{kindOf(text), text}
	case syncing:
		if l.writes {
			l.writes, s.kind = false, "COMMIT"
		}
	}
	return s
}

var changing = regexp.MustCompile(`\b(INSERT|UPDATE|DELETE)\b`)

// kindOf is the word for a statement; one that begins with WITH is called by what it
// changes.
func kindOf(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "SELECT set_config") {
		return "SET"
	}
	if strings.HasPrefix(text, "WITH") {
		if word := changing.FindString(text); word != "" {
			return word
		}
		return "SELECT"
	}
	word, _, _ := strings.Cut(text, " ")
	return strings.ToUpper(strings.TrimRight(word, ";"))
}
