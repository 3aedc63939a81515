package whitlog

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Policy is what a call does when its ring has no room; what is dropped is counted, and said in the stream.
type Policy int

const (
	// Grow takes a larger ring, up to the limits; then as Block.
	Grow Policy = iota
	// Block waits for the reader, for a limited time; then drops.
	Block
	// Drop drops this record.
	Drop
)

// Tier is how safe records are; each includes those before it.
type Tier int

const (
	// InRing survives this process.
	InRing Tier = iota
	// Read has been read by the proxy.
	Read
	// Synced is on the proxy's disk.
	Synced
	// Central is in the central store.
	Central
)

// Settings are how a program logs; zeros are the defaults.
type Settings struct {
	// Directory is the folder of rings; "": $WHIT_LOG_DIRECTORY, or the user's.
	Directory string
	// HostName is the name of the host; "": the system's.
	HostName string
	// ProcessName is the name of the program; "": that of its file.
	ProcessName string
	// RingBytes is the size of a ring, which begins with 16 KiB; 0: 1 MiB.
	RingBytes int
	// RingBytesMax is the size to which a ring grows with Grow; 0: 16 MiB.
	RingBytesMax int
	// ProcessBytesMax is the size of all rings; 0: 256 MiB.
	ProcessBytesMax int
	// BlockTimeout is the longest wait of a call; 0: ten seconds.
	BlockTimeout time.Duration
	// Policy is what a call does without room.
	Policy Policy
	// Level is that of a new logger; 0: Delouse.
	Level Level
}

const (
	firstBytes = 16 << 10
	shardsMax  = 32
)

// left is a ring that was left for a larger one.
type left struct {
	file     mapping
	written  uint64
	capacity int
}

// process is this process as readers of rings see it: its file, call sites, loggers and rings.
type process struct {
	settings     Settings
	folder, stem string
	host, name   string
	clock        *clock
	id           [16]byte
	start        uint64
	// Open for as long as the process lives: its lock says that.
	file      *os.File
	page      mapping
	doorbell  mapping
	hasFailed atomic.Bool
	shards    []*ring
	// Call sites by level, for when the dictionary is full.
	plain      [12]uint32
	lock       sync.Mutex
	entries    map[string]uint32
	contexts   map[uint32][]byte
	entryCount uint32
	loggers    []string
	nextRing   uint32
	ringBytes  int
	dictionary int
	left       []left
	// Flushes that look at rings, which stay mapped meanwhile.
	flushes int
}

var (
	startOnce sync.Once
	current   *process
)

// Start starts logging with settings of your own; without it the first handler starts it.  It gives an error if
// logging was started already, or nothing is logged; that is said on standard error, too.
func Start(settings Settings) error {
	err := errors.New("logging is started already: start it before the first handler")
	startOnce.Do(func() { current, err = newProcess(settings) })
	return err
}

func started() *process {
	startOnce.Do(func() { current, _ = newProcess(Settings{}) })
	return current
}

func orElse[T comparable](given, usual T) T {
	var zero T
	if given == zero {
		return usual
	}
	return given
}

func newProcess(settings Settings) (*process, error) {
	settings.RingBytes = orElse(settings.RingBytes, 1<<20)
	settings.RingBytesMax = orElse(settings.RingBytesMax, 16<<20)
	settings.ProcessBytesMax = orElse(settings.ProcessBytesMax, 256<<20)
	settings.BlockTimeout = orElse(settings.BlockTimeout, 10*time.Second)
	settings.Level = orElse(settings.Level, Delouse)
	host, _ := os.Hostname()
	p := &process{settings: settings, host: orElse(settings.HostName, host), name: orElse(settings.ProcessName, programName()),
		clock: newClock(), start: startTicks(), nextRing: 1, entries: map[string]uint32{}, contexts: map[uint32][]byte{}}
	err := p.begin()
	if err != nil {
		say("%v: nothing is logged", err)
		return nil, err
	}
	return p, nil
}

func (p *process) begin() (err error) {
	if p.folder, err = openFolder(p.settings.Directory); err != nil {
		return err
	}
	if p.doorbell, err = openDoorbell(p.folder); err != nil {
		return err
	}
	if _, err = rand.Read(p.id[:]); err != nil {
		return err
	}
	if err = p.makeFile(); err != nil {
		return err
	}
	// The first logger: for records of those for which there is no room.
	if _, err = p.findLogger("go"); err != nil {
		return err
	}
	for level := range p.plain {
		p.plain[level] = p.addSite("", 0, "", "{}", uint32(level), formBraces, []byte{typeText})
	}
	p.shards = make([]*ring, min(2*runtime.GOMAXPROCS(0), shardsMax))
	for at := range p.shards {
		p.shards[at] = &ring{process: p, combined: map[uint64]uint32{}}
	}
	return nil
}

func (p *process) makeFile() error {
	var head [page]byte
	order := binary.LittleEndian
	copy(head[:], "whitlogP")
	order.PutUint32(head[8:], version)
	order.PutUint32(head[12:], flagWake)
	order.PutUint32(head[16:], uint32(os.Getpid()))
	order.PutUint64(head[24:], p.start)
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	hex.Decode(head[32:48], []byte(strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", ""))[:min(32, max(0, len(boot)-5))])
	copy(head[48:64], p.id[:])
	order.PutUint64(head[64:], 1e9)
	copy(head[128:128+255], p.host)
	copy(head[384:384+255], p.name)
	order.PutUint64(head[pPairs:], 1)
	var pair [32]byte
	order.PutUint64(pair[:], 1)
	for at, number := range p.clock.pair() {
		order.PutUint64(pair[8+8*at:], number)
	}
	made := filepath.Join(p.folder, fmt.Sprintf("%d-%d-%x.new", os.Getpid(), p.start, p.id[:8]))
	file, err := createFile(made, loggersAt)
	if err != nil {
		return err
	}
	fail := func(err error) error {
		file.Close()
		os.Remove(made)
		return err
	}
	if err := file.Truncate(dictionaryAt); err != nil {
		return fail(err)
	}
	if _, err := file.WriteAt(head[:], 0); err != nil {
		return fail(err)
	}
	if _, err := file.WriteAt(pair[:], pCalibration); err != nil {
		return fail(err)
	}
	for turn := 1; ; turn++ {
		p.stem = fmt.Sprintf("%d-%d", os.Getpid(), p.start)
		if turn > 1 {
			p.stem += fmt.Sprintf(".%d", turn)
		}
		err := rename(made, filepath.Join(p.folder, p.stem+".process"))
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) || turn == 1000 {
			return fail(err)
		}
	}
	// Given back by the end of the process.
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Len: 1}
	syscall.FcntlFlock(file.Fd(), ofdSetLock, &lock)
	p.file = file
	p.page, err = mapFile(file, dictionaryAt)
	return err
}

// fail says once that something failed; the program goes on, and what is lost is counted.
func (p *process) fail(err error) {
	if !p.hasFailed.Swap(true) {
		say("a log record is lost: %v", err)
	}
}

func (p *process) countDropped(level uint32) { p.page.u64(pDropped + 8*int(level&15)).Add(1) }

// entry publishes an entry of the dictionary, or finds the same; it gives its number, 0: there is no room.
func (p *process) entry(kind uint16, payload []byte) uint32 {
	key := string([]byte{byte(kind)}) + string(payload)
	if known, is := p.entries[key]; is {
		return known
	}
	total := padded(16 + len(payload))
	if total > 65536 || p.dictionary+total > dictionaryMax {
		return 0
	}
	bytes := make([]byte, total)
	number := p.entryCount + 1
	binary.LittleEndian.PutUint32(bytes, uint32(total))
	binary.LittleEndian.PutUint16(bytes[8:], kind)
	binary.LittleEndian.PutUint32(bytes[12:], number)
	copy(bytes[16:], payload)
	binary.LittleEndian.PutUint32(bytes[4:], crc32.Checksum(bytes[8:], crc32.MakeTable(crc32.Castagnoli)))
	if _, err := p.file.WriteAt(bytes, int64(dictionaryAt+p.dictionary)); err != nil {
		p.fail(err)
		return 0
	}
	p.entryCount = number
	p.dictionary += total
	p.page.u64(pDictionaryLength).Store(uint64(p.dictionary))
	p.entries[key] = number
	if kind == 2 {
		p.contexts[number] = payload
	}
	return number
}

func (p *process) addSite(file string, line int, routine, format string, level uint32, form byte, types []byte) uint32 {
	const most = 12 << 10
	file, routine, format = file[:min(len(file), most)], routine[:min(len(routine), most)], format[:min(len(format), most)]
	var to []byte
	to = binary.LittleEndian.AppendUint32(to, uint32(max(line, 0)))
	to = append(to, byte(level), form, byte(len(types)), 0)
	for _, length := range []int{len(file), len(routine), len(format), 0} {
		to = binary.LittleEndian.AppendUint32(to, uint32(length))
	}
	to = append(append(append(append(to, types...), file...), routine...), format...)
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.entry(1, to)
}

// addContext is called under the lock.
func (p *process) addContext(logger uint32, pairs []string) uint32 {
	name := p.loggers[logger]
	count := min(len(pairs)/2, 64)
	var to []byte
	for _, number := range []int{int(logger), count, len(name)} {
		to = binary.LittleEndian.AppendUint32(to, uint32(number))
	}
	to = append(to, name...)
	for at := 0; at < count; at++ {
		name, text := pairs[2*at], pairs[2*at+1]
		name, text = name[:min(len(name), 120)], text[:min(len(text), 380)]
		to = binary.LittleEndian.AppendUint16(to, uint16(len(name)))
		to = binary.LittleEndian.AppendUint16(to, uint16(len(text)))
		to = append(append(to, name...), text...)
	}
	return p.entry(2, to)
}

// combine is a context of the first's logger, and the pairs of the second before its own.
func (p *process) combine(context, scope uint32) uint32 {
	p.lock.Lock()
	defer p.lock.Unlock()
	one, other := p.contexts[context], p.contexts[scope]
	if one == nil || other == nil {
		return context
	}
	count := binary.LittleEndian.Uint32(one[4:]) + binary.LittleEndian.Uint32(other[4:])
	head, otherHead := 12+binary.LittleEndian.Uint32(one[8:]), 12+binary.LittleEndian.Uint32(other[8:])
	to := binary.LittleEndian.AppendUint32(append([]byte(nil), one[:4]...), count)
	to = append(append(append(to, one[8:head]...), other[otherHead:]...), one[head:]...)
	if number := p.entry(2, to); number != 0 {
		return number
	}
	return context
}

func (p *process) scope(pairs []string, within uint32) uint32 {
	p.lock.Lock()
	number := p.addContext(0, pairs)
	p.lock.Unlock()
	if number == 0 || within == 0 {
		return max(number, within)
	}
	return p.combine(within, number)
}

// findLogger finds or makes a logger; 0: there is no room for it.  Under the lock, or before there are others.
func (p *process) findLogger(name string) (uint32, error) {
	for at, known := range p.loggers {
		if known == name {
			return uint32(at), nil
		}
	}
	if len(p.loggers) >= loggersMax || len(name) > loggerNameMax {
		return 0, nil
	}
	index := len(p.loggers)
	entry := make([]byte, loggerBytes)
	level := byte(p.settings.Level)
	copy(entry, []byte{level, level, level, byte(len(name))})
	copy(entry[loggerName:], name)
	if _, err := p.file.WriteAt(entry, int64(loggersAt+index*loggerBytes)); err != nil {
		return 0, err
	}
	p.loggers = append(p.loggers, name)
	p.page.u32(pLoggers).Store(uint32(len(p.loggers)))
	p.applyKept(index, name)
	return uint32(index), nil
}

func (p *process) levels(logger uint32) []byte {
	return p.page.slice(loggersAt+int(logger)*loggerBytes, 3)
}

func (p *process) setLevels(logger uint32, central, local byte) {
	// One word, of which the last byte is the length of the name.
	word := p.page.u32(loggersAt + int(logger)*loggerBytes)
	word.Store(word.Load()&0xFF000000 | uint32(local)<<16 | uint32(central)<<8 | uint32(min(central, local)))
}

func (p *process) makeRing(r *ring, capacity int, predecessor uint32) error {
	var head [rData]byte
	order := binary.LittleEndian
	copy(head[:], "whitlogR")
	order.PutUint32(head[8:], version)
	order.PutUint32(head[12:], 1)
	copy(head[16:32], p.id[:])
	order.PutUint32(head[32:], uint32(os.Getpid()))
	order.PutUint64(head[40:], p.start)
	order.PutUint32(head[48:], p.nextRing)
	order.PutUint32(head[52:], predecessor)
	order.PutUint64(head[56:], uint64(capacity))
	order.PutUint32(head[rSuccessor:], noRing)
	for tier := 0; tier < 3; tier++ {
		order.PutUint64(head[rMarks+tier*markBytes+16:], ^uint64(0))
		order.PutUint64(head[rMarks+tier*markBytes+24:], ^uint64(0))
	}
	name := fmt.Sprintf("%s-%d", p.stem, p.nextRing)
	made := filepath.Join(p.folder, name+".new")
	file, err := createFile(made, rData+capacity)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(head[:], 0)
	var mapped mapping
	if err == nil {
		mapped, err = mapRing(file, capacity)
	}
	if err == nil {
		err = rename(made, filepath.Join(p.folder, name+".ring"))
	}
	if err != nil {
		os.Remove(made)
		return err
	}
	r.begin(mapped, p.nextRing, capacity)
	p.nextRing++
	p.ringBytes += capacity
	p.page.u32(pRings).Store(p.nextRing)
	return nil
}

func (p *process) releaseLeft() {
	if p.flushes > 0 {
		return
	}
	kept := p.left[:0]
	for _, one := range p.left {
		if markOf(one.file, 0) < one.written {
			kept = append(kept, one)
			continue
		}
		unmapRing(one.file, one.capacity)
		p.ringBytes -= one.capacity
	}
	p.left = kept
}

// grow goes on in a larger ring, if the limits allow.
func (p *process) grow(r *ring, size uint64) bool {
	most, capacity := p.settings.RingBytes, int(r.capacity)*2
	if capacity*2 <= most {
		capacity *= 2
	}
	for uint64(capacity/2) < size+reserve {
		capacity *= 2
	}
	if p.settings.Policy == Grow {
		most = max(most, p.settings.RingBytesMax)
	}
	if capacity > most {
		return false
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.releaseLeft()
	if p.ringBytes+capacity > p.settings.ProcessBytesMax {
		return false
	}
	r.putLast(kindNext, uint64(p.nextRing))
	before := left{r.file, r.write, int(r.capacity)}
	before.file.u32(rSuccessor).Store(p.nextRing)
	if err := p.makeRing(r, capacity, r.number); err != nil {
		before.file.u32(rSuccessor).Store(noRing)
		return false
	}
	before.file.u32(rEnded).Store(1)
	p.left = append(p.left, before)
	return true
}

// ring locks a ring for this goroutine: one that nobody uses, near the one that its stack says.
func (p *process) ring() (*ring, error) {
	var here byte
	begin := int(uintptr(unsafe.Pointer(&here)) >> 13)
	for at := range p.shards {
		if r := p.shards[(begin+at)%len(p.shards)]; r.data != nil && r.TryLock() {
			return r, nil
		}
	}
	r := p.shards[begin%len(p.shards)]
	r.Lock()
	if r.data == nil {
		p.lock.Lock()
		err := p.makeRing(r, min(firstBytes, p.settings.RingBytes), noRing)
		p.lock.Unlock()
		if err != nil {
			r.Unlock()
			return nil, err
		}
	}
	return r, nil
}

// Flush waits until all that was logged is as safe as a tier says; it gives whether it is.
func Flush(tier Tier, timeout time.Duration) bool {
	p := started()
	if p == nil || tier == InRing {
		return true
	}
	p.countFlush(1)
	defer p.countFlush(-1)
	var wanted []left
	for _, r := range p.shards {
		r.Lock()
		if r.data != nil {
			wanted = append(wanted, left{r.file, r.write, 0})
		}
		r.Unlock()
	}
	p.page.u32(pFlush).Store(uint32(tier))
	defer p.page.u32(pFlush).Store(0)
	p.ringDoorbell()
	for end := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		isSafe := true
		for _, one := range wanted {
			isSafe = isSafe && markOf(one.file, int(tier)-1) >= one.written
		}
		if isSafe || time.Now().After(end) {
			return isSafe
		}
	}
}

func (p *process) countFlush(step int) {
	p.lock.Lock()
	p.flushes += step
	p.lock.Unlock()
}

// End says that the process ends in order.
func End() {
	if p := current; p != nil {
		p.page.u32(pEnded).Store(1)
	}
}
