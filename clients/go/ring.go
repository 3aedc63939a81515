package whitlog

import (
	"encoding/binary"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

type dropped struct {
	count, first, last uint64
	context            uint32
	isOfSeveral        bool
}

func (d *dropped) add(other dropped) {
	switch {
	case other.count == 0:
		return
	case d.count == 0:
		*d = other
		return
	}
	d.count += other.count
	d.first, d.last = min(d.first, other.first), max(d.last, other.last)
	d.isOfSeveral = d.isOfSeveral || other.isOfSeveral || d.context != other.context
	if d.isOfSeveral {
		d.context = 0
	}
}

// ring is one of the rings that goroutines share; its lock is held while a record is stored.
type ring struct {
	sync.Mutex
	process                     *process
	file                        mapping
	data                        []byte
	number                      uint32
	capacity                    uint64
	write, sequence, room, read uint64
	stalled                     uint64
	dropped                     [16]dropped
	hasDropped                  bool
	combined                    map[uint64]uint32
}

// begin goes on in a new file.
func (r *ring) begin(file mapping, number uint32, capacity int) {
	r.file, r.number, r.capacity = file, number, uint64(capacity)
	r.data = file.slice(rData, 2*capacity)
	r.write, r.sequence, r.read, r.stalled = 0, 0, 0, 1<<63
	r.room = r.capacity - reserve
	r.dropped, r.hasDropped = [16]dropped{}, false
}

// markOf is a mark's position; 0 while it is being written.
func markOf(file mapping, tier int) uint64 {
	at := rMarks + tier*markBytes
	position := file.u64(at).Load()
	if position != ^file.u64(at+16).Load() {
		return 0
	}
	return position
}

// look sees how far the reader is; one that goes back, or ahead of the writer, is not believed.
func (r *ring) look() {
	position := markOf(r.file, 0)
	if position <= r.write && position%8 == 0 && position > r.read {
		r.read = position
		r.room = position + r.capacity - reserve
	}
}

func (r *ring) fits(size uint64) bool { return r.write+size <= r.room }

func put64(to []byte, word uint64) []byte {
	binary.LittleEndian.PutUint64(to, word)
	return to[8:]
}

func putText(to []byte, text string) []byte {
	size := padded(4 + len(text))
	clear(to[size-8 : size])
	binary.LittleEndian.PutUint32(to, uint32(len(text)))
	copy(to[4:], text)
	return to[size:]
}

func putName(to []byte, kind byte, name string) []byte {
	next := putText(to, name)
	binary.LittleEndian.PutUint32(to, uint32(kind)|uint32(len(name))<<8)
	return next
}

func sizeOf(values []value, arguments, textMax int) uint64 {
	size := headBytes
	for at := range values {
		size += values[at].bytes(textMax)
		if at >= arguments {
			size += padded(4 + len(values[at].name))
		}
	}
	return uint64(size)
}

// put stores a record; texts are cut if it would be too long.
func (r *ring) put(values []value, arguments int, site, context, head uint32) {
	const all = 1 << 62
	size, textMax, leftOut := sizeOf(values, arguments, all), all, 0
	if wanted := min(size, recordMax); r.capacity/2 < wanted+reserve {
		r.process.grow(r, wanted)
	}
	if most := min(r.capacity/2-reserve, recordMax); size > most {
		low, high := 0, int(most)
		for low+1 < high {
			if middle := (low + high) / 2; sizeOf(values, arguments, middle)+cutBytes <= most {
				low = middle
			} else {
				high = middle
			}
		}
		textMax = low
		size = sizeOf(values, arguments, textMax) + cutBytes
		for at := range values {
			leftOut += max(0, len(values[at].text)-textMax)
		}
		head |= flagCut | flagAttributes
	}
	if !r.makeRoom(size, head&15, context) {
		return
	}
	to := r.at(r.write)[headBytes:]
	for at := range values {
		v := &values[at]
		if at >= arguments {
			to = putName(to, v.kind, v.name)
		}
		if v.kind == typeText {
			to = putText(to, v.text[:min(len(v.text), textMax)])
		} else {
			to = put64(to, v.word)
		}
	}
	if textMax != all {
		put64(putName(to, typeUnsigned, "CutBytes"), uint64(leftOut))
	}
	r.publish(kindLog, head, site, context, size)
}

func (r *ring) at(position uint64) []byte { return r.data[position&(r.capacity-1):] }

func (r *ring) publish(kind, head, site, context uint32, size uint64) {
	to := r.at(r.write)
	to = put64(to, size>>3|uint64(kind)<<16|uint64(head&0xFF)<<24|r.sequence<<32)
	to = put64(to, r.process.clock.now())
	put64(to, uint64(site)|uint64(context)<<32)
	r.sequence++
	r.write += size
	r.file.u64(rWrite).Store(r.write)
}

func (r *ring) putNumbers(kind, head, context uint32, numbers ...uint64) {
	to := r.at(r.write)[headBytes:]
	for _, number := range numbers {
		to = put64(to, number)
	}
	r.publish(kind, head, 0, context, headBytes+8*uint64(len(numbers)))
}

func (r *ring) putDropped(level uint32, d *dropped) {
	several := uint64(0)
	if d.isOfSeveral {
		several = 1
	}
	r.putNumbers(kindDropped, level, d.context, d.count, d.first, d.last, several)
	*d = dropped{}
}

// reportDropped says in the stream what was dropped, as far as there is room beside so many bytes.
func (r *ring) reportDropped(size uint64) {
	for level := range r.dropped {
		if !r.hasDropped || r.dropped[level].count == 0 {
			continue
		}
		if !r.fits(size + headBytes + 32) {
			return
		}
		r.putDropped(uint32(level), &r.dropped[level])
	}
	r.hasDropped = false
}

// putLast is the last record of a ring; before it, what was dropped and is not said yet.
func (r *ring) putLast(kind uint32, number uint64) {
	r.look()
	var all dropped
	for _, one := range r.dropped {
		all.add(one)
	}
	if all.count > 0 && r.write+headBytes+32 <= r.room+reserve/2 {
		r.putDropped(0, &all)
	}
	if r.write+headBytes+8 <= r.room+reserve {
		r.putNumbers(kind, 0, 0, number)
	}
}

func (r *ring) makeRoom(size uint64, level, context uint32) bool {
	if r.fits(size) && !r.hasDropped {
		return true
	}
	r.look()
	r.reportDropped(size)
	if r.fits(size) || r.process.grow(r, size) {
		return true
	}
	if r.process.settings.Policy != Drop && r.waitForRoom(size) {
		return true
	}
	counter := r.file.u64(rDropped + 8*int(level))
	counter.Store(counter.Load() + 1)
	r.dropped[level].add(dropped{1, r.sequence, r.sequence, context, false})
	r.hasDropped = true
	r.sequence++
	return false
}

// waitForRoom waits for the reader; not again before it has read something.
func (r *ring) waitForRoom(size uint64) bool {
	if r.stalled == r.read {
		return false
	}
	end := time.Now().Add(r.process.settings.BlockTimeout)
	for {
		r.look()
		if r.fits(size) {
			r.reportDropped(size)
			return r.fits(size)
		}
		if time.Now().After(end) {
			r.stalled = r.read
			return false
		}
		r.process.ringDoorbell()
		time.Sleep(500 * time.Microsecond)
	}
}

func (p *process) ringDoorbell() {
	if p.doorbell.u32(4).Load() != 0 {
		word := p.doorbell.u32(0)
		word.Add(1)
		syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1<<31-1, 0, 0, 0)
	}
}

// wake wakes the reader after a record, if it sleeps for long or the record is important.
func (p *process) wake(level uint32) {
	if sleeper := p.page.u32(pSleeper); sleeper.Load() != 0 {
		sleeper.Swap(0)
	} else if level < uint32(Error) {
		return
	}
	p.ringDoorbell()
}
