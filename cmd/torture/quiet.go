package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
)

// quietProxy carries connections of servers to their PostgreSQL, and can drop its notifications.
type quietProxy struct {
	listener net.Listener
	database *url.URL
	socket   string
	quiet    atomic.Bool
	lost     atomic.Int64 // notifications
	work     sync.WaitGroup
}

// newQuietProxy starts a proxy for a database that is reached over a socket.
func newQuietProxy(dsn string) (*quietProxy, error) {
	database, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &quietProxy{listener: listener, database: database, socket: filepath.Join(database.Query().Get("host"), ".s.PGSQL.5432")}
	p.work.Go(p.accept)
	return p, nil
}

func (p *quietProxy) address() string { return p.listener.Addr().String() }

// through returns the address of the database over a line to the proxy, for a server of that name.
func (p *quietProxy) through(l *line, name string) string {
	address, query := *p.database, p.database.Query()
	at := l.listener.Addr().(*net.TCPAddr)
	query.Set("host", at.IP.String())
	query.Set("port", strconv.Itoa(at.Port))
	query.Set("sslmode", "disable")
	query.Set("application_name", name)
	address.RawQuery = query.Encode()
	return address.String()
}

// close ends the proxy. It blocks until all connections through it are closed.
func (p *quietProxy) close() error {
	err := p.listener.Close()
	p.work.Wait()
	return err
}

func (p *quietProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.carry(client) })
	}
}

// carry carries one connection until one side closes it.
func (p *quietProxy) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.socket)
	if err != nil {
		return
	}
	defer server.Close()
	var back sync.WaitGroup
	back.Go(func() {
		defer client.Close()
		defer server.Close()
		p.copyReplies(client, server)
	})
	_, _ = io.Copy(server, client) // until one side closes it
	server.Close()
	back.Wait()
}

// copyReplies carries the messages of PostgreSQL: a letter, the length of the rest, and the rest.
func (p *quietProxy) copyReplies(to io.Writer, from io.Reader) {
	const header, notification = 5, 'A'
	in, out := bufio.NewReader(from), bufio.NewWriter(to)
	head := make([]byte, header)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		length := int64(binary.BigEndian.Uint32(head[1:])) - 4
		if head[0] == notification && p.quiet.Load() {
			p.lost.Add(1)
			if _, err := io.CopyN(io.Discard, in, length); err != nil {
				return
			}
			continue
		}
		if _, err := out.Write(head); err != nil {
			return
		}
		if _, err := io.CopyN(out, in, length); err != nil {
			return
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}
