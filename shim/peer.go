package shim

import (
	"bufio"
	"crypto/subtle"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/internal/failpoint"
)

const (
	// helloTimeout is how long a client may take to identify itself.
	helloTimeout = 2 * time.Second
	// endTimeout is how long a server may take to read the last frames.
	endTimeout = 2 * time.Second
	// reconnectDelay is how long attach waits for the previous connection to end if the same
	// server connects again.
	reconnectDelay = 100 * time.Millisecond
	// maxHello bounds a frame of an unidentified client, in bytes.
	maxHello = 4 << 10
	// maxReplies bounds the replies that the server has not read.
	maxReplies = 16 << 10
	// chunkSize bounds the part of the journal in one frame, in bytes.
	chunkSize = 256 << 10
)

// A peer is one connection to a server, seen by the shim.
type peer struct {
	k       *supervisor
	c       *net.UnixConn
	version byte
	wake    chan struct{} // capacity 1
	done    chan struct{} // closed when the connection has ended
	blocked string        // as last reported to the server; only send uses it

	mu       sync.Mutex
	replies  []frame
	attached bool
	sent     int64 // end of the sent part of the journal
	allowed  int64 // end of the part of the journal that may be sent
	exitSent bool
	closing  bool // send what is queued, then end
	ended    bool // receive has returned
}

// serve serves a connection until either side ends it. It calls known after the client has
// identified itself.
func (k *supervisor) serve(c *net.UnixConn, known func()) {
	defer c.Close()
	if uid, err := peerUID(c); err != nil || uid != os.Geteuid() {
		return
	}
	_ = c.SetDeadline(time.Now().Add(helloTimeout)) // fails only when closed
	f, err := readFrame(c, maxHello)
	if err != nil || f.kind != kindHello {
		return
	}
	agreed := min(Version, f.head.Version)
	switch {
	case agreed < oldest:
		err = ErrVersion
	case subtle.ConstantTimeCompare([]byte(f.head.Token), []byte(k.token)) != 1:
		err = ErrRefused
	}
	reply := replyTo(f.number, head{Version: agreed, SessionID: k.meta.SessionID, ProcessID: k.meta.ProcessID}, err)
	reply.version = Version
	if _, e := c.Write(reply.append(nil, 0)); e != nil || err != nil {
		return
	}
	_ = c.SetDeadline(time.Time{}) // fails only when closed
	known()

	p := &peer{k: k, c: c, version: byte(agreed), wake: make(chan struct{}, 1), done: make(chan struct{})}
	defer close(p.done)
	var sending sync.WaitGroup
	sending.Go(p.send)
	p.receive()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.signal()
	sending.Wait()
	k.mu.Lock()
	if k.current == p {
		k.current = nil
	}
	k.mu.Unlock()
}

func (p *peer) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func replyTo(number uint64, h head, err error) frame {
	if err != nil {
		return frame{kind: kindError, number: number, head: wire(err)}
	}
	return frame{kind: kindReply, number: number, head: h}
}

func (p *peer) reply(f frame) {
	p.mu.Lock()
	p.replies = append(p.replies, f)
	p.mu.Unlock()
	p.signal()
}

// end makes send write the queued frames and last, if the server reads them within endTimeout, and
// then end the connection. It does not wait for that.
func (p *peer) end(last ...frame) {
	p.mu.Lock()
	p.replies = append(p.replies, last...)
	p.closing = true
	p.mu.Unlock()
	_ = p.c.SetWriteDeadline(time.Now().Add(endTimeout)) // fails only when closed
	p.signal()
}

func (p *peer) receive() {
	r := bufio.NewReaderSize(p.c, 64<<10)
	for {
		f, err := readFrame(r, p.k.limits.Input+maxHello)
		if err != nil || !p.handleFrame(f) {
			return
		}
	}
}

// handleFrame handles a frame. It returns false to end the connection.
func (p *peer) handleFrame(f frame) bool {
	k, h := p.k, f.head
	done := func(err error) { p.reply(replyTo(f.number, head{}, err)) }
	switch {
	case f.version != p.version:
		done(ErrVersion)
	case f.kind == kindStat:
		go func() { // stat reads every process of the machine
			s := k.stat()
			p.reply(replyTo(f.number, head{Stat: &s}, nil))
		}()
	case f.kind == kindAttach:
		p.attach(f.number, h)
	case f.kind < kindWrite || f.kind > kindConsumed:
		done(ErrUnknown)
	case !k.isCurrent(p):
		done(ErrFenced)
	case f.kind == kindWrite:
		k.input.write(h.Epoch, h.Key, f.body, func(dup bool, err error) {
			p.reply(replyTo(f.number, head{Dup: dup}, failpoint.After("shim.write.before_ack", err)))
		})
	case f.kind == kindCloseInput:
		go func() { k.input.close(); done(nil) }()
	case f.kind == kindSignal:
		done(k.signal(syscall.Signal(h.Signal)))
	case f.kind == kindKill:
		go func() { k.kill(time.Duration(h.GraceMS)*time.Millisecond, h.Force); done(nil) }()
	case f.kind == kindStderr:
		p.reply(frame{kind: kindReply, number: f.number, body: []byte(k.tail.String())})
	case f.kind == kindAckExit && k.exitRecord() == nil:
		done(ErrAlive)
	case f.kind == kindAckExit:
		if err := failpoint.Hit("shim.release.before"); err != nil {
			done(err)
			break
		}
		done(failpoint.Hit("shim.release.after"))
		k.ackExit()
	case f.kind == kindCommit:
		k.journal.commit(int64(f.number))
	case f.kind == kindConsumed:
		p.mu.Lock()
		p.allowed = max(p.allowed, int64(f.number)) // the server is free to choose the limit
		p.mu.Unlock()
		p.signal()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.replies) < maxReplies
}

func (p *peer) attach(number uint64, h head) {
	k := p.k
	err := failpoint.Hit("shim.attach.before")
	k.mu.Lock()
	if older := k.current; older != nil && older != p && h.Epoch == k.epoch {
		// The same server attaches again. Its previous connection may be about to end.
		k.mu.Unlock()
		select {
		case <-older.done:
		case <-time.After(reconnectDelay):
		}
		k.mu.Lock()
	}
	first, end := k.journal.bounds()
	older := k.current
	switch {
	case err != nil:
	case h.Epoch < k.epoch || h.Epoch == k.epoch && older != nil || older == p:
		err = ErrFenced
	case h.From < 0 || h.From > end:
		err = ErrOffset
	default:
		k.epoch, k.current = h.Epoch, p
	}
	k.mu.Unlock()
	if err != nil {
		p.reply(replyTo(number, head{}, err))
		return
	}
	if older != nil {
		older.end(frame{kind: kindFenced})
	}
	k.input.fence(h.Epoch)
	p.reply(replyTo(number, head{Salt: k.journal.salt}, failpoint.Hit("shim.attach.after")))
	p.mu.Lock()
	p.attached, p.sent = true, max(h.From, first)
	p.allowed = p.sent + max(h.Window, chunkSize)
	p.mu.Unlock()
	p.signal()
}

// send writes replies, and the journal up to the server's limit. It returns when the connection
// ends, and closes the connection.
func (p *peer) send() {
	defer p.c.Close()
	at := cursor{j: p.k.journal}
	defer at.close()
	buf := make([]byte, 0, frameHeader+chunkSize)
	for {
		out, last := p.collect(buf[:0], &at)
		if len(out) > 0 {
			if failpoint.Hit("shim.publish.before") != nil {
				return
			}
			_, err := p.c.Write(out)
			if failpoint.After("shim.publish.after", err) != nil {
				return
			}
		}
		if last {
			return
		}
		if len(out) == 0 {
			<-p.wake
		}
		if cap(out) > 1<<20 {
			out = buf
		}
		buf = out
	}
}

// collect appends to b the frames that can be sent now. last means that the connection ends after
// them.
func (p *peer) collect(b []byte, at *cursor) (out []byte, last bool) {
	exit := p.k.exitRecord()
	p.mu.Lock()
	replies := p.replies
	p.replies = nil
	attached, sent, allowed := p.attached, p.sent, p.allowed
	sayExit := attached && exit != nil && !p.exitSent
	p.exitSent = p.exitSent || sayExit
	closing, ended := p.closing, p.ended
	p.mu.Unlock()

	if ended {
		return nil, true
	}
	if _, blocked := p.k.journal.state(); attached && blocked != p.blocked {
		p.blocked = blocked
		replies = append(replies, frame{kind: kindBlocked, head: head{Message: blocked}})
	}
	if sayExit {
		replies = append(replies, frame{kind: kindExit, head: head{Exit: exit}})
	}
	for _, f := range replies {
		f.version = p.version
		b = f.append(b, 0)
	}
	if !attached || closing || sent >= allowed {
		return b, closing
	}
	body := len(b) + frameHeader
	if cap(b) < body+chunkSize {
		b = append(make([]byte, 0, body+chunkSize), b...)
	}
	n, err := at.read(b[body:body+int(min(chunkSize, allowed-sent))], sent)
	if n == 0 && err == nil {
		return b, false
	}
	if n == 0 {
		sent = at.end // this segment cannot be read: the server sees a gap
	}
	frame{version: p.version, kind: kindData, number: uint64(sent)}.append(b, n)
	p.mu.Lock()
	p.sent = sent + int64(n)
	p.mu.Unlock()
	return b[:body+n], false
}
