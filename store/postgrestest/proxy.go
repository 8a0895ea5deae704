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

// Proxy forwards connections to a database. It understands enough of the protocol to make any
// single statement fail.
type Proxy struct {
	listener net.Listener
	dsn      string
	work     sync.WaitGroup

	mu     sync.Mutex // protects following
	target string     // the socket of the database
	delay  time.Duration
	fault  *Fault
	seen   int // number of statements so far that match the fault
	lines  map[*proxyConn]bool
}

// Effect is what happens to a statement.
type Effect int

const (
	// Refuse makes the database roll the transaction back; the client receives the SQLSTATE of the
	// fault.
	Refuse Effect = iota
	// Cut closes the connection before the statement reaches the database.
	Cut
	// LoseReply closes the connection once the database has processed everything that was sent with
	// the statement.
	LoseReply
	// StallRequest drops the statement and everything after it, and keeps the connection open, like
	// a network that loses packets.
	StallRequest
	// StallReply is [LoseReply], but keeps the connection open.
	StallReply
)

// Fault describes which statement fails, and how.
type Fault struct {
	// Kind is the first word of the statement, or of the change in a WITH: SELECT, INSERT, UPDATE or
	// DELETE. COMMIT is the end of a transaction that may change data, SET is the statement that
	// makes it durable. "" is any statement except SET and COMMIT.
	Kind string
	// Nth counts matching statements since [Proxy.Fail], from 1; 0 means 1.
	Nth int
	// Contains is text that the statement or one of its arguments must contain.
	Contains string
	Effect   Effect
	Code     string // the SQLSTATE for Refuse
}

// NewProxy starts a proxy in front of a database of this package, for the duration of the test.
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
	p := &Proxy{listener: listener, target: query.Get("host") + socketName, lines: map[*proxyConn]bool{}}
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

// DSN returns the address of the database through the proxy.
func (p *Proxy) DSN() string { return p.dsn }

// Fail makes one statement fail. It replaces the previous fault.
func (p *Proxy) Fail(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.Nth = max(1, f.Nth)
	p.fault, p.seen = &f, 0
}

// Failed reports whether the statement has failed, and removes the fault.
func (p *Proxy) Failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed := p.fault == nil
	p.fault = nil
	return failed
}

// Delay delays the replies of the database by d.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// RefuseConnections refuses new connections until back is called.
func (p *Proxy) RefuseConnections() (back func()) {
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

// Hangup closes every connection.
func (p *Proxy) Hangup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.lines {
		l.close()
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
		l := &proxyConn{proxy: p, client: client, server: server, statements: map[string]statement{}}
		p.mu.Lock()
		p.lines[l] = true
		p.mu.Unlock()
		var ways sync.WaitGroup
		ways.Go(l.forwardRequests)
		ways.Go(l.forwardReplies)
		p.work.Go(func() {
			ways.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.lines, l)
		})
	}
}

// matchFault returns the fault of a statement, nil if there is none.
func (p *Proxy) matchFault(s statement, message []byte) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fault
	switch {
	case f == nil, s.kind == "", f.Kind != s.kind && (f.Kind != "" || s.kind == "SET" || s.kind == "COMMIT"),
		!strings.Contains(s.text, f.Contains) && !bytes.Contains(message, []byte(f.Contains)):
		return nil
	}
	if p.seen++; p.seen < f.Nth {
		return nil
	}
	p.fault = nil
	return f
}

type statement struct{ kind, text string }

// proxyConn is one connection of a client.
type proxyConn struct {
	proxy          *Proxy
	client, server net.Conn
	statements     map[string]statement // by name; used by requests only
	writes         bool                 // the transaction may change something; used by requests only

	mu    sync.Mutex // protects following
	fault *Fault     // the fault that applies to the reply
}

// close closes both connections. It may be called repeatedly.
func (l *proxyConn) close() {
	l.client.Close()
	l.server.Close()
}

// missingStatement is the name of a prepared statement that no client has.
const missingStatement = "no such statement, by order of a test"

// forwardRequests forwards the messages of the client.
func (l *proxyConn) forwardRequests() {
	defer l.close()
	in, out := bufio.NewReader(l.client), bufio.NewWriter(l.server)
	first := make([]byte, 4) // the length of a message without a type
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
		message, err := readMessage(in)
		if err != nil {
			return
		}
		if fault := l.proxy.matchFault(l.statementOf(message), message); fault != nil {
			switch fault.Effect {
			case Cut:
				return
			case StallRequest:
				_, _ = io.Copy(io.Discard, in) // until one side closes the connection
				return
			case Refuse:
				message = refusalOf(message)
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

// forwardReplies forwards the messages of the database.
func (l *proxyConn) forwardReplies() {
	defer l.close()
	in, out := bufio.NewReader(l.server), bufio.NewWriter(l.client)
	for {
		message, err := readMessage(in)
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
			if message[0] == errorResponse && bytes.Contains(message, []byte(missingStatement)) {
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

// The message types that the proxy handles.
const (
	parse, bind, query, syncing  = 'P', 'B', 'Q', 'S'
	errorResponse, readyForQuery = 'E', 'Z'
)

// readMessage reads a message, including its type and length.
func readMessage(in *bufio.Reader) ([]byte, error) {
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

// refusalOf returns a message that makes the database fail, in place of message, or before it if
// message ends a transaction.
func refusalOf(message []byte) []byte {
	if message[0] == query {
		text, err := (&pgproto3.Query{String: `EXECUTE "` + missingStatement + `"`}).Encode(nil)
		if err != nil {
			panic(err)
		}
		return text
	}
	text, err := (&pgproto3.Bind{PreparedStatement: missingStatement}).Encode(nil)
	if err != nil {
		panic(err)
	}
	if message[0] == syncing {
		text = append(text, message...)
	}
	return text
}

// statementOf returns the statement that a message runs; its kind is empty if it runs none.
func (l *proxyConn) statementOf(message []byte) (s statement) {
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

var changePattern = regexp.MustCompile(`\b(INSERT|UPDATE|DELETE)\b`)

// kindOf returns the kind of a statement; for one with WITH, the kind of its change.
func kindOf(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "SELECT set_config") {
		return "SET"
	}
	if strings.HasPrefix(text, "WITH") {
		if word := changePattern.FindString(text); word != "" {
			return word
		}
		return "SELECT"
	}
	word, _, _ := strings.Cut(text, " ")
	return strings.ToUpper(strings.TrimRight(word, ";"))
}
