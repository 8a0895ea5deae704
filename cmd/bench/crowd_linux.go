package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// A crowd is many tabs that only read, on one goroutine, so that the tabs use the same CPU time
// with every server.
type crowd struct {
	poll    int
	members map[int32]*member // by descriptor
	buf     []byte
	frames  int             // deliveries so far
	took    []time.Duration // of each message to each tab
}

type member struct {
	file    *os.File
	rest    []byte // of an incomplete frame
	written int64  // of the last message
}

// dialCrowd opens tabs at a publisher and returns once nothing more arrives.
func dialCrowd(p *publisher, count int) (*crowd, error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	c := &crowd{poll: poll, members: map[int32]*member{}, buf: make([]byte, 1<<20)}
	for range count {
		if err := c.dial(p); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, c.settle()
}

func (c *crowd) dial(p *publisher) error {
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		return err
	}
	defer conn.Close() // the file below is another descriptor
	authorization := ""
	if p.token != "" {
		authorization = "Authorization: Bearer " + p.token + "\r\n"
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n%s\r\n", p.path, p.address, authorization); err != nil {
		return err
	}
	m := &member{}
	for end := -1; end < 0; {
		n, err := conn.Read(c.buf)
		if err != nil {
			return err
		}
		m.rest = append(m.rest, c.buf[:n]...)
		if end = bytes.Index(m.rest, []byte("\r\n\r\n")); end >= 0 {
			if !bytes.HasPrefix(m.rest, []byte("HTTP/1.1 101 ")) {
				return fmt.Errorf("no WebSocket: %s", m.rest)
			}
			m.rest = bytes.Clone(m.rest[end+4:])
		}
	}
	if p.hello != "" {
		if _, err := conn.Write(clientFrame(0x81, []byte(p.hello))); err != nil {
			return err
		}
	}
	if m.file, err = conn.(*net.TCPConn).File(); err != nil {
		return err
	}
	fd := int32(m.file.Fd())
	c.members[fd] = m
	return errors.Join(syscall.SetNonblock(int(fd), true),
		syscall.EpollCtl(c.poll, syscall.EPOLL_CTL_ADD, int(fd), &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: fd}))
}

// clientFrame returns a frame of up to 125 bytes, masked with zeros.
func clientFrame(head byte, payload []byte) []byte {
	return append([]byte{head, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
}

func (c *crowd) close() {
	for _, m := range c.members {
		_ = m.file.Close()
	}
	_ = syscall.Close(c.poll)
}

// await receives until there have been at least frames deliveries. It fails after 20 seconds.
func (c *crowd) await(frames int) error {
	for started := time.Now(); c.frames < frames; {
		if err := c.receive(time.Second); err != nil {
			return err
		}
		if time.Since(started) > 20*time.Second {
			return fmt.Errorf("%d of %d deliveries arrived", c.frames, frames)
		}
	}
	return nil
}

// settle receives until nothing arrives for a while.
func (c *crowd) settle() error {
	for {
		n, err := c.wait(50 * time.Millisecond)
		if err != nil || n == 0 {
			return err
		}
	}
}

func (c *crowd) receive(patience time.Duration) error {
	_, err := c.wait(patience)
	return err
}

// wait waits up to patience for data, reads it, and returns how many tabs had some.
func (c *crowd) wait(patience time.Duration) (int, error) {
	events := make([]syscall.EpollEvent, 128)
	n, err := syscall.EpollWait(c.poll, events, int(patience.Milliseconds()))
	if errors.Is(err, syscall.EINTR) {
		return 1, nil // there may be data
	}
	if err != nil {
		return 0, err
	}
	for _, e := range events[:n] {
		read, err := syscall.Read(int(e.Fd), c.buf)
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
			continue
		}
		if err == nil && read == 0 {
			err = io.EOF
		}
		if err != nil {
			return 0, fmt.Errorf("the server closed a tab: %w", err)
		}
		m := c.members[e.Fd]
		m.rest = append(m.rest, c.buf[:read]...)
		if err := c.parse(e.Fd, m); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// parse removes the complete frames from what a tab has read, and answers pings.
func (c *crowd) parse(fd int32, m *member) error {
	now := time.Now().UnixNano()
	rest := m.rest
	for len(rest) >= 2 {
		length, head := int(rest[1]), 2
		switch {
		case length == 126 && len(rest) >= 4:
			length, head = int(binary.BigEndian.Uint16(rest[2:])), 4
		case length == 127 && len(rest) >= 10:
			length, head = int(binary.BigEndian.Uint64(rest[2:])), 10
		case length >= 126:
			length = len(rest) // the length has not arrived
		}
		if len(rest) < head+length {
			break
		}
		payload := rest[head : head+length]
		switch rest[0] {
		case 0x81:
			c.message(m, payload, now)
		case 0x89:
			if _, err := syscall.Write(int(fd), clientFrame(0x8a, payload)); err != nil {
				return err
			}
		case 0x88:
			return fmt.Errorf("the server closed a tab: %q", payload)
		}
		rest = rest[head+length:]
	}
	m.rest = append(m.rest[:0], rest...)
	return nil
}

// message counts the states in a message, and records how long the first one with a request took.
func (c *crowd) message(m *member, payload []byte, now int64) {
	c.frames += bytes.Count(payload, []byte(`"type":"process_state"`))
	const key = "written_at"
	i := bytes.LastIndex(payload, []byte(key))
	if i < 0 {
		return
	}
	digits := bytes.TrimLeft(payload[i+len(key):], `\":`)
	end := bytes.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
	written, err := strconv.ParseInt(string(digits[:max(end, 0)]), 10, 64)
	if err == nil && written != m.written {
		m.written = written
		c.took = append(c.took, time.Duration(now-written))
	}
}
