package sqlite

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

// CheckLog checks, before [Open], whether the WAL has lost transactions, which SQLite does not
// report. It returns [sqlstore.ErrLogLost] if the WAL is missing, or if one of its pages is damaged
// and transactions follow it. It keeps a copy of a damaged WAL. No other program may use the
// database meanwhile.
func CheckLog(path string) error {
	path, err := absolutePath(path)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil // a new database
	}
	wal := path + "-wal"
	var lost lostFrames
	if err == nil {
		lost, err = readLog(wal)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s is missing, which is there after every end of sayso. If it was deleted after a crash, the answers and messages before that were in it: stop sayso and put it back. After restoring a backup, or the first start of this version, nothing is wrong", sqlstore.ErrLogLost, wal)
	case err != nil:
		return fmt.Errorf("read the log of the database: %w", err)
	case lost.transactions == 0:
		return nil
	}
	kept := wal + "-damaged-" + time.Now().UTC().Format("20060102T150405")
	what := fmt.Sprintf("%s is damaged %d bytes from its start, and at least %d changes after that are left out", wal, lost.at, lost.transactions)
	if err := copyFile(kept, wal); err != nil {
		return fmt.Errorf("%w: %s, and no copy of it could be kept: %w", sqlstore.ErrLogLost, what, err)
	}
	return fmt.Errorf("%w: %s; the last answers and messages may be among them, so look through the sessions that were active. A copy is in %s. Check the disk", sqlstore.ErrLogLost, what, kept)
}

// EndedCleanly reports whether the last user of the database at path closed it: its WAL exists and
// is empty. Call it before [Open].
func EndedCleanly(path string) bool {
	path, err := absolutePath(path)
	if err != nil {
		return false
	}
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() == 0
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return out.Sync()
}

// lostFrames describes the committed frames of a WAL that SQLite does not read.
type lostFrames struct {
	at           int64 // offset of the first damaged frame
	transactions int
}

const (
	logHeader   = 32
	frameHeader = 24
)

// checksum is the running checksum of a WAL.
type checksum [2]uint32

func (s checksum) add(order binary.ByteOrder, data []byte) checksum {
	for ; len(data) >= 8; data = data[8:] {
		s[0] += order.Uint32(data) + s[1]
		s[1] += order.Uint32(data[4:]) + s[0]
	}
	return s
}

func checksumAt(data []byte) checksum {
	return checksum{binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])}
}

// readLog reads a WAL like SQLite, but continues after the first frame whose checksum does not match,
// and counts the commits after it. The checksum of each frame includes that of the previous frame, so
// frames after a damaged one can be distinguished from remains of an earlier log.
func readLog(path string) (lost lostFrames, err error) {
	file, err := os.Open(path)
	if err != nil {
		return lost, err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 256<<10)
	header := make([]byte, logHeader)
	if _, err := io.ReadFull(in, header); err != nil {
		return lost, ignoreEOF(err)
	}
	if bytes.Count(header, []byte{0}) == logHeader {
		return lost, nil // nothing was written to the WAL since it was created
	}
	var order binary.ByteOrder = binary.LittleEndian // the byte order of all common machines
	if binary.BigEndian.Uint32(header) == 0x377f0683 {
		order = binary.BigEndian
	}
	salts, before := string(header[16:24]), checksumAt(header[24:])
	intact := before == checksum{}.add(order, header[:24])
	size := int64(4096)
	if intact {
		size = int64(binary.BigEndian.Uint32(header[8:]))
	} else {
		salts = "" // taken from the first frame
	}
	frame := make([]byte, frameHeader+size)
	for at := int64(logHeader); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(in, frame); err != nil {
			return lost, ignoreEOF(err)
		}
		if salts == "" {
			salts = string(frame[8:16])
		}
		after := checksumAt(frame[16:])
		fits := string(frame[8:16]) == salts && before.add(order, frame[:8]).add(order, frame[frameHeader:]) == after
		before = after
		switch {
		case intact && !fits:
			intact, lost.at = false, at
		case fits && !intact && binary.BigEndian.Uint32(frame[4:]) != 0:
			lost.transactions++
		}
	}
}

// ignoreEOF returns nil for the end of a file, and other errors unchanged.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
