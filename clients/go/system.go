package whitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	clockBoottime = 7
	futexWait     = 0
	futexWake     = 1
	ofdSetLock    = 37
	mapFixed      = 0x10
)

// mapping is shared memory that stays where it is.
type mapping struct{ base unsafe.Pointer }

func (m mapping) u64(at int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Add(m.base, at)) }
func (m mapping) u32(at int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Add(m.base, at)) }
func (m mapping) slice(at, length int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(m.base, at)), length)
}

func mmap(at uintptr, length int, flags int, file int, offset int) (unsafe.Pointer, error) {
	base, _, why := syscall.Syscall6(syscall.SYS_MMAP, at, uintptr(length), syscall.PROT_READ|syscall.PROT_WRITE,
		uintptr(flags), uintptr(file), uintptr(offset))
	if why != 0 {
		return nil, why
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&base)), nil
}

func mapFile(file *os.File, length int) (mapping, error) {
	base, err := mmap(0, length, syscall.MAP_SHARED, int(file.Fd()), 0)
	return mapping{base}, err
}

// mapRing maps the header, the data, and the data again, so that no record is split.
func mapRing(file *os.File, capacity int) (mapping, error) {
	base, err := mmap(0, rData+2*capacity, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS, -1, 0)
	if err != nil {
		return mapping{}, err
	}
	flags, number := syscall.MAP_SHARED|mapFixed, int(file.Fd())
	// Only the end of a record runs into the second mapping.
	_, err = mmap(uintptr(base), rData+capacity, flags|syscall.MAP_POPULATE, number, 0)
	if err == nil {
		_, err = mmap(uintptr(base)+uintptr(rData+capacity), capacity, flags, number, rData)
	}
	if err != nil {
		unmapRing(mapping{base}, capacity)
	}
	return mapping{base}, err
}

func unmapRing(m mapping, capacity int) {
	syscall.Syscall(syscall.SYS_MUNMAP, uintptr(m.base), uintptr(rData+2*capacity), 0)
}

// createFile makes a file of so many bytes that are really there.
func createFile(path string, length int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := allocate(file, 0, length); err != nil {
		file.Close()
		os.Remove(path)
		return nil, err
	}
	return file, nil
}

func allocate(file *os.File, at, length int) error {
	for {
		err := syscall.Fallocate(int(file.Fd()), 0, int64(at), int64(length))
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// rename gives a file its name; it fails if there is one of that name.
func rename(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}

func boottime() int64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

// clock gives CLOCK_BOOTTIME without a system call: that of Go's monotonic clock, and how long the machine was
// suspended, which is looked at once a second.
type clock struct {
	begin  time.Time
	offset atomic.Int64
	next   atomic.Int64
}

func newClock() *clock {
	c := &clock{begin: time.Now()}
	c.look(0)
	return c
}

func (c *clock) look(now int64) {
	before := int64(time.Since(c.begin))
	boot := boottime()
	after := int64(time.Since(c.begin))
	offset := boot - (before + (after-before)/2)
	// Two readings are never at the same time: what is less than a suspension is not one.
	if known := c.offset.Load(); known == 0 || offset-known > int64(50*time.Millisecond) {
		c.offset.Store(offset)
	}
	c.next.Store(now + int64(time.Second))
}

func (c *clock) now() uint64 {
	now := int64(time.Since(c.begin))
	if now >= c.next.Load() {
		c.look(now)
	}
	return uint64(now + c.offset.Load())
}

// pair is stamp, CLOCK_REALTIME, CLOCK_BOOTTIME: the reading that took the shortest time.
func (c *clock) pair() [3]uint64 {
	var best [3]uint64
	shortest := uint64(1) << 63
	for turn := 0; turn < 5; turn++ {
		before := c.now()
		real := uint64(time.Now().UnixNano())
		if took := c.now() - before; took < shortest {
			shortest = took
			best = [3]uint64{before + took/2, real, before + took/2}
		}
	}
	return best
}

func startTicks() uint64 {
	stat, _ := os.ReadFile("/proc/self/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return 0
	}
	ticks, _ := strconv.ParseUint(fields[19], 10, 64)
	return ticks
}

// fault says why a folder is not safe for this user; "": it is.
func fault(path string) string {
	facts, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	owner := facts.Sys().(*syscall.Stat_t).Uid
	switch {
	case facts.Mode()&os.ModeSymlink != 0:
		return "it is a symbolic link"
	case !facts.IsDir():
		return "it is not a folder"
	case int(owner) != os.Geteuid():
		return "it belongs to another user"
	case facts.Mode().Perm()&0o022 != 0:
		return "others may write in it"
	}
	return ""
}

func makeFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if why := fault(path); why != "" {
		return fmt.Errorf("%s: %s", path, why)
	}
	return nil
}

// candidates are the folders to log into if the program names none: the rule is that of
// crates/logring/src/folder.rs.
func candidates() []string {
	var all []string
	user := strconv.Itoa(os.Geteuid())
	if facts, err := os.Lstat("/run/whit/log"); err == nil && facts.IsDir() {
		owner := int(facts.Sys().(*syscall.Stat_t).Uid)
		isSafe := facts.Mode().Perm()&0o022 == 0 || facts.Mode()&os.ModeSticky != 0
		if (owner == 0 || owner == os.Geteuid()) && isSafe {
			all = append(all, filepath.Join("/run/whit/log", user))
		}
	}
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) && fault(runtime) == "" {
		all = append(all, filepath.Join(runtime, "whit-log"))
	}
	return append(all, "/dev/shm/whit-log-"+user)
}

// openFolder gives the folder to log into, made if it is not there; what is refused on the way is said.
func openFolder(named string) (string, error) {
	if named == "" && os.Getuid() == os.Geteuid() {
		named = os.Getenv("WHIT_LOG_DIRECTORY")
	}
	if named != "" {
		return named, makeFolder(named)
	}
	last := errors.New("there is no folder for rings")
	for _, path := range candidates() {
		if last = makeFolder(path); last == nil {
			return path, nil
		}
		say("%v: refused as a folder of log records", last)
	}
	return "", last
}

// openDoorbell maps the page by which producers wake readers; it refuses a folder whose reader is of another version.
func openDoorbell(folder string) (mapping, error) {
	file, err := os.OpenFile(filepath.Join(folder, "doorbell"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return mapping{}, err
	}
	defer file.Close()
	if err := allocate(file, 0, page); err != nil {
		return mapping{}, err
	}
	var versions [4]byte
	if _, err := file.ReadAt(versions[:], 8); err != nil {
		return mapping{}, err
	}
	oldest, newest := binary.LittleEndian.Uint16(versions[:]), binary.LittleEndian.Uint16(versions[2:])
	if newest != 0 && (oldest > version || newest < version) {
		return mapping{}, fmt.Errorf("%s: its reader reads versions %d to %d of rings, this program writes %d", folder, oldest, newest, version)
	}
	return mapFile(file, page)
}

func programName() string { return filepath.Base(os.Args[0]) }

func say(format string, values ...any) {
	fmt.Fprintf(os.Stderr, programName()+": "+format+"\n", values...)
}
