package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clocksCanJump reports whether the clock of a single process can be changed on this platform.
const clocksCanJump = true

// The functions of the vDSO that return the time of day, and one that no program here calls, which
// the functions below overwrite.
const (
	clockGettime = "__vdso_clock_gettime"
	gettimeofday = "__vdso_gettimeofday"
	unused       = "__vdso_clock_getres"
)

// The functions ask the kernel and add a number of seconds to the time of day. The distance to that
// number is written into the last four bytes of the MOVQ. Clocks other than CLOCK_REALTIME do not
// change, as when an administrator sets a clock.
var (
	jumpedClock = []byte{
		0xb8, 228, 0, 0, 0, // MOVL $SYS_clock_gettime, AX
		0x0f, 0x05, //         SYSCALL
		0x85, 0xff, //         TESTL DI, DI
		0x75, 10, //           JNE over the next two
		0x48, 0x8b, 0x0d, 0, 0, 0, 0, // MOVQ seconds(PC), CX
		0x48, 0x01, 0x0e, //   ADDQ CX, (SI)
		0xc3, //               RET
	}
	jumpedDay = []byte{
		0xb8, 96, 0, 0, 0, //  MOVL $SYS_gettimeofday, AX
		0x0f, 0x05, //         SYSCALL
		0x48, 0x85, 0xff, //   TESTQ DI, DI
		0x74, 10, //           JEQ over the next two
		0x48, 0x8b, 0x0d, 0, 0, 0, 0, // MOVQ seconds(PC), CX
		0x48, 0x01, 0x0f, //   ADDQ CX, (DI)
		0xc3, //               RET
	}
)

const (
	tail       = 4 // bytes of ADDQ and RET, which follow the distance
	jump       = 5 // bytes of JMP
	stopSignal = time.Second
)

// setClock makes the clock of one process differ from that of the machine, by whole seconds. It stops
// the process for a moment, unnoticed. The kernel maps the functions that read the clock into each
// process and copies a page that is written to, so all other processes keep their clocks, including
// those that this process starts.
func setClock(pid int, by time.Duration) (err error) {
	failed := func(err error) error { return fmt.Errorf("set the clock of process %d: %w", pid, err) }
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return failed(err)
	}
	defer memory.Close()
	start, image, err := vdso(pid, memory)
	if err != nil {
		return failed(err)
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return failed(err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return failed(err)
	}
	at := map[string]elf.Symbol{}
	for _, s := range symbols {
		at[s.Name] = s
	}
	// The seconds, then both functions.
	seconds := at[unused].Value
	clock, day := seconds+8, seconds+8+uint64(len(jumpedClock))
	if size := uint64(8 + len(jumpedClock) + len(jumpedDay)); seconds%8 != 0 || at[unused].Size < size || at[clockGettime].Size < jump || at[gettimeofday].Size < jump {
		return failed(fmt.Errorf("this kernel's functions have no place for others: %+v", at))
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return failed(err)
	}
	defer func() { err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT)) }()
	if err := awaitStopped(pid, start+at[clockGettime].Value, start+at[gettimeofday].Value); err != nil {
		return failed(err)
	}
	write := func(to uint64, text []byte) {
		if err == nil {
			_, err = memory.WriteAt(text, int64(start+to))
		}
	}
	write(seconds, binary.LittleEndian.AppendUint64(nil, uint64(int64(by/time.Second))))
	for _, f := range []struct {
		of   string
		to   uint64
		text []byte
	}{{clockGettime, clock, jumpedClock}, {gettimeofday, day, jumpedDay}} {
		text := bytes.Clone(f.text)
		distance := text[len(text)-tail-4:]
		binary.LittleEndian.PutUint32(distance, uint32(int32(int64(seconds)-int64(f.to)-int64(len(text)-tail))))
		write(f.to, text)
		write(at[f.of].Value, binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(int32(int64(f.to)-int64(at[f.of].Value)-jump))))
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// vdso returns the address of the vDSO of a process, and its bytes.
func vdso(pid int, memory *os.File) (start uint64, image []byte, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(line, "[vdso]\n") {
			continue
		}
		var end uint64
		if _, err := fmt.Sscanf(line, "%x-%x", &start, &end); err != nil {
			return 0, nil, err
		}
		image = make([]byte, end-start)
		_, err = memory.ReadAt(image, int64(start))
		return start, image, err
	}
	return 0, nil, errors.New("it has no vDSO")
}

// awaitStopped waits until every thread of a process is stopped, none of them at the beginning of a
// function that will be replaced there.
func awaitStopped(pid int, functions ...uint64) error {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
		if err != nil || len(threads) == 0 {
			return errors.Join(err, syscall.ESRCH)
		}
		ready := true
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			words := strings.Fields(string(text))
			if err != nil || len(words) < 3 { // it runs, or has ended
				ready = false
				continue
			}
			pc, err := strconv.ParseUint(words[len(words)-1], 0, 64)
			if err != nil {
				return err
			}
			for _, f := range functions {
				if pc > f && pc < f+jump {
					// The thread must run on for a moment.
					if err := errors.Join(syscall.Kill(pid, syscall.SIGCONT), syscall.Kill(pid, syscall.SIGSTOP)); err != nil {
						return err
					}
					ready = false
				}
			}
		}
		if ready {
			return nil
		}
		if time.Since(began) > stopSignal {
			return errors.New("it does not stop")
		}
	}
}
