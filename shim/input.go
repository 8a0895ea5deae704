package shim

import (
	"bytes"
	"crypto/sha256"
	"os"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/failpoint"
)

// closeGracePeriod is how long queued lines may still be written after a call of close.
const closeGracePeriod = time.Second

// An input writes to the CLI's stdin. Only the goroutine of run writes, so that a CLI that does not
// read blocks nothing else, and lines never interleave.
type input struct {
	pipe     *os.File
	limit    int64    // bytes that may be queued
	keys     *os.File // keys of the written lines, for later servers
	keysSize int64    // size of keys; only run uses it

	mu     sync.Mutex
	epoch  uint64
	known  map[[16]byte]*entry // by key: queued lines, and nil for written ones
	queue  []*entry            // the first line may be partly written
	bytes  int64               // size of the queue
	since  time.Time           // when the write of the first line started
	begun  bool                // the write of the first line has started
	closed bool                // no more lines are accepted
	wake   chan struct{}       // capacity 1
	done   chan struct{}       // closed when run has returned and the pipe is closed
}

// An entry is one line to write.
type entry struct {
	key     [16]byte
	keyed   bool
	line    []byte // with its newline
	waiting []func(dup bool, err error)
}

func newInput(pipe, keys *os.File, limit int64) *input {
	return &input{pipe: pipe, limit: limit, keys: keys, known: map[[16]byte]*entry{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// write queues a line, and calls done once the whole line is in the pipe or will never be. A line
// whose key was written before is not written again; the key "" stands for none.
func (in *input) write(epoch uint64, key string, line []byte, done func(dup bool, err error)) {
	dup, err := in.enqueue(epoch, key, line, done)
	if dup || err != nil {
		done(dup, err)
	}
}

func (in *input) enqueue(epoch uint64, key string, line []byte, done func(bool, error)) (dup bool, err error) {
	if bytes.IndexByte(line, '\n') >= 0 {
		return false, ErrBadLine
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if epoch != in.epoch {
		return false, ErrFenced
	}
	e := &entry{key: digest(key), keyed: key != "", waiting: []func(bool, error){done}}
	if was, known := in.known[e.key]; known && e.keyed {
		if was != nil {
			was.waiting = append(was.waiting, done)
		}
		return was == nil, nil
	}
	if in.closed {
		return false, ErrInputClosed
	}
	if in.bytes+int64(len(line)) >= in.limit {
		return false, ErrInputFull
	}
	e.line = append(line, '\n')
	if e.keyed {
		in.known[e.key] = e
	}
	in.queue = append(in.queue, e)
	in.bytes += int64(len(e.line))
	in.signal()
	return false, nil
}

func digest(key string) [16]byte {
	sum := sha256.Sum256([]byte(key))
	return [16]byte(sum[:16])
}

// remember records a key. It is called before the line is written, so that a missing key proves
// that the line was not written. On a full disk the line is written without a record, because an
// answer that Claude waits for matters more.
func (in *input) remember(key [16]byte) {
	if n, err := in.keys.WriteAt(key[:], in.keysSize); err == nil {
		in.keysSize += int64(n)
	}
}

func (in *input) signal() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// fence drops the queued lines of lower epochs, because the server of the new epoch sends them
// again. A line that is partly written is completed.
func (in *input) fence(epoch uint64) {
	in.mu.Lock()
	keep := 0
	if in.begun {
		keep = 1
	}
	if epoch < in.epoch { // a server of a higher epoch has attached in the meantime
		keep = len(in.queue)
	}
	in.epoch = max(in.epoch, epoch)
	dropped := in.drop(keep)
	in.mu.Unlock()
	dropped.finish(ErrFenced)
}

type entries []*entry

func (dropped entries) finish(err error) {
	for _, e := range dropped {
		for _, done := range e.waiting {
			done(false, err)
		}
	}
}

// drop removes all but the first keep lines from the queue.
func (in *input) drop(keep int) entries {
	dropped := entries(in.queue[keep:])
	in.queue = in.queue[:keep:keep]
	for _, e := range dropped {
		in.bytes -= int64(len(e.line))
		delete(in.known, e.key)
	}
	return dropped
}

// close closes the input, and returns when it is closed: at once if nothing is queued, else after
// closeGracePeriod at the latest.
func (in *input) close() {
	in.mu.Lock()
	if !in.closed {
		_ = in.pipe.SetWriteDeadline(time.Now().Add(closeGracePeriod)) // fails only when closed
	}
	in.closed = true
	in.mu.Unlock()
	in.signal()
	<-in.done
}

// waiting returns the number of queued bytes, and how long the write of the first line has taken so
// far.
func (in *input) waiting() (int64, time.Duration) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.begun {
		return in.bytes, 0
	}
	return in.bytes, time.Since(in.since)
}

// run writes queued lines until the input is closed, by close or by the CLI.
func (in *input) run() {
	defer close(in.done)
	var err error
	for err == nil {
		in.mu.Lock()
		var first *entry
		if len(in.queue) > 0 {
			first, in.begun, in.since = in.queue[0], true, time.Now()
		}
		closed := in.closed
		in.mu.Unlock()
		if first == nil {
			if closed {
				break
			}
			<-in.wake
			continue
		}
		if err = failpoint.Hit("shim.write.before_pipe"); err != nil {
			break
		}
		noted := in.keysSize
		if first.keyed {
			in.remember(first.key)
		}
		var n int
		if n, err = in.pipe.Write(first.line); n < len(first.line) {
			_ = in.keys.Truncate(noted) // if it fails, at worst a person is asked again
		}
		if err = failpoint.After("shim.write.after_pipe", err); err != nil {
			break
		}
		in.mu.Lock()
		in.queue, in.begun = in.queue[1:], false
		in.bytes -= int64(len(first.line))
		if first.keyed {
			in.known[first.key] = nil
		}
		in.mu.Unlock()
		for _, done := range first.waiting { // no other goroutine can add to these any longer
			done(false, nil)
		}
	}
	in.pipe.Close()
	in.keys.Close()
	in.mu.Lock()
	in.closed, in.begun = true, false
	dropped := in.drop(0)
	in.mu.Unlock()
	dropped.finish(ErrInputClosed)
}
