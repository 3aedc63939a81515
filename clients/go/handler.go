// Package whitlog stores the records of log/slog into rings in shared memory, which `whit log proxy` reads.
//
//	slog.SetDefault(slog.New(whitlog.NewHandler("CONTROL/PM01", "Antenna", "DV01")))
//	slog.Info("antenna moves", "degrees", 45.25)
//
// A call that returned is safe from then on, however the program ends.  Pure Go, without cgo.
package whitlog

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Level is one of ACS's levels.
type Level uint8

// ACS's levels, with its numbers.
const (
	Trace     Level = 1
	Delouse   Level = 2
	Debug     Level = 3
	Info      Level = 4
	Notice    Level = 5
	Warning   Level = 6
	Error     Level = 8
	Critical  Level = 9
	Alert     Level = 10
	Emergency Level = 11
	Off       Level = 99
)

// Slog is the level of log/slog that is stored as this one.
func (l Level) Slog() slog.Level { return slogLevels[min(int(l), len(slogLevels)-1)] }

var slogLevels = [...]slog.Level{-12, -12, -8, slog.LevelDebug, slog.LevelInfo, 2, slog.LevelWarn, slog.LevelError,
	slog.LevelError, 12, 16, 20, math.MaxInt}

func levelOf(level slog.Level) Level {
	for _, one := range [...]Level{Emergency, Alert, Critical, Error, Warning, Notice, Info, Debug, Delouse} {
		if level >= one.Slog() {
			return one
		}
	}
	return Trace
}

// place is a call site: the message that it has had, and the numbers of its sites.
type place struct {
	message            string
	constant, variable uint32
}

const placesMax = 1 << 14

var places struct {
	sync.RWMutex
	known map[placeKey]*place
}

type placeKey struct {
	counter uintptr
	level   Level
}

// Handler stores the records of log/slog.  Attributes are data of the record; those of groups have the group's name
// and a dot before their own.
type Handler struct {
	logger, context uint32
	leftName        string
	prefix          string
	attributes      []value
}

// NewHandler gives the handler of a logger; names and values of its context follow, in turn.  A process has 1,023
// loggers; records of further ones have the logger go, and their name as data.
func NewHandler(logger string, pairs ...string) *Handler {
	p := started()
	if p == nil {
		return &Handler{}
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	h := &Handler{}
	index, err := p.findLogger(logger)
	if err != nil {
		p.fail(err)
	}
	if index == 0 && logger != p.loggers[0] {
		h.leftName = logger
	}
	h.logger, h.context = index, p.addContext(index, pairs)
	return h
}

// SetLevels sets the levels of the logger for the central store and for local outputs; all handlers of its name follow.
func (h *Handler) SetLevels(central, local Level) {
	if p := current; p != nil {
		p.setLevels(h.logger, byte(central), byte(local))
	}
}

type scopeKey struct{}

// WithScope gives records that are made with the context names and values, in turn.
func WithScope(ctx context.Context, pairs ...string) context.Context {
	p := started()
	if p == nil {
		return ctx
	}
	within, _ := ctx.Value(scopeKey{}).(uint32)
	return context.WithValue(ctx, scopeKey{}, p.scope(pairs, within))
}

// Enabled says whether records of a level are made.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool {
	p := current
	if p == nil {
		return false
	}
	word := p.page.u32(loggersAt + int(h.logger)*loggerBytes).Load()
	return byte(levelOf(level)) >= byte(word)
}

// WithAttrs gives a handler whose records have these attributes, too.
func (h *Handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	with := *h
	with.attributes = append([]value(nil), h.attributes...)
	for _, one := range attributes {
		with.attributes = appendAttribute(with.attributes, h.prefix, one)
	}
	return &with
}

// WithGroup gives a handler whose further attributes are in a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.prefix += name + "."
	}
	return &with
}

func appendAttribute(to []value, prefix string, one slog.Attr) []value {
	v := one.Value.Resolve()
	name := prefix + one.Key
	name = name[:min(len(name), 255)]
	switch v.Kind() {
	case slog.KindInt64:
		return append(to, value{name: name, kind: typeSigned, word: uint64(v.Int64())})
	case slog.KindUint64:
		return append(to, value{name: name, kind: typeUnsigned, word: v.Uint64()})
	case slog.KindFloat64:
		return append(to, value{name: name, kind: typeFloat, word: math.Float64bits(v.Float64())})
	case slog.KindBool:
		word := uint64(0)
		if v.Bool() {
			word = 1
		}
		return append(to, value{name: name, kind: typeBool, word: word})
	case slog.KindString:
		return append(to, value{name: name, kind: typeText, text: v.String()})
	case slog.KindTime:
		return append(to, value{name: name, kind: typeText, text: v.Time().Format(time.RFC3339Nano)})
	case slog.KindGroup:
		if one.Key != "" {
			prefix = name + "."
		}
		for _, inner := range v.Group() {
			to = appendAttribute(to, prefix, inner)
		}
		return to
	case slog.KindAny:
		if err, is := v.Any().(error); is && err != nil {
			to = append(to, value{name: "exception.type", kind: typeText, text: fmt.Sprintf("%T", err)})
		}
	}
	return append(to, value{name: name, kind: typeText, text: textOf(v)})
}

// textOf is the text of anything; one that panics says so.
func textOf(v slog.Value) (text string) {
	defer func() {
		if why := recover(); why != nil {
			text = fmt.Sprintf("[its text cannot be made: %v]", why)
		}
	}()
	return v.String()
}

var buffers = sync.Pool{New: func() any { all := make([]value, 0, 16); return &all }}

const dataMax = 62

// Handle stores a record.
func (h *Handler) Handle(ctx context.Context, record slog.Record) error {
	p := current
	if p == nil {
		return nil
	}
	buffer := buffers.Get().(*[]value)
	values := append((*buffer)[:0], value{kind: typeText, text: record.Message})
	values = append(values, h.attributes...)
	record.Attrs(func(one slog.Attr) bool {
		values = appendAttribute(values, h.prefix, one)
		return true
	})
	if h.leftName != "" {
		values = append(values, value{name: "logger", kind: typeText, text: h.leftName})
	}
	if more := len(values) - 1 - dataMax; more > 0 {
		values = append(values[:1+dataMax], value{name: "DataLeftOut", kind: typeUnsigned, word: uint64(more)})
	}
	scope, _ := ctx.Value(scopeKey{}).(uint32)
	p.store(h, record, values, scope)
	clear(values)
	*buffer = values
	buffers.Put(buffer)
	return nil
}

func (p *process) store(h *Handler, record slog.Record, values []value, scope uint32) {
	level := levelOf(record.Level)
	number := uint32(level)
	site, isConstant := p.siteOf(record, level)
	if site == 0 {
		p.countDropped(number)
		return
	}
	arguments := 1
	if isConstant {
		values, arguments = values[1:], 0
	}
	head := number
	if word := p.page.u32(loggersAt + int(h.logger)*loggerBytes).Load(); byte(level) < byte(word>>8) {
		head |= flagLocal
	}
	if len(values) > arguments {
		head |= flagAttributes
	}
	context := h.context
	r, err := p.ring()
	if err != nil {
		p.fail(err)
		p.countDropped(number)
		return
	}
	if scope != 0 {
		key := uint64(context)<<32 | uint64(scope)
		combined, is := r.combined[key]
		if !is {
			combined = p.combine(context, scope)
			if len(r.combined) < 1024 {
				r.combined[key] = combined
			}
		}
		context = combined
	}
	r.put(values, arguments, site, context, head)
	r.Unlock()
	p.wake(number)
}

// siteOf gives the call site of a record, and whether its message is part of that: the first message of a place
// is taken as constant, others are stored with their records.
func (p *process) siteOf(record slog.Record, level Level) (uint32, bool) {
	key := placeKey{record.PC, level}
	places.RLock()
	known := places.known[key]
	places.RUnlock()
	if known == nil {
		known = p.addPlace(key, record.Message)
	}
	if known.message == record.Message && known.constant != 0 {
		return known.constant, true
	}
	if site := atomic.LoadUint32(&known.variable); site != 0 {
		return site, false
	}
	file, line, routine := frameOf(key.counter)
	site := p.addSite(file, line, routine, "{}", uint32(level), formBraces, []byte{typeText})
	if site == 0 {
		site = p.plain[level]
	}
	atomic.StoreUint32(&known.variable, site)
	return site, false
}

func frameOf(counter uintptr) (string, int, string) {
	if counter == 0 {
		return "", 0, ""
	}
	frame, _ := runtime.CallersFrames([]uintptr{counter}).Next()
	return frame.File, frame.Line, frame.Function
}

func (p *process) addPlace(key placeKey, message string) *place {
	const messageMax = 1024
	places.Lock()
	defer places.Unlock()
	if known := places.known[key]; known != nil {
		return known
	}
	if places.known == nil {
		places.known = map[placeKey]*place{}
	}
	made := &place{}
	if len(places.known) >= placesMax {
		return made
	}
	if key.counter != 0 && len(message) <= messageMax {
		file, line, routine := frameOf(key.counter)
		made.message = strings.Clone(message)
		made.constant = p.addSite(file, line, routine, made.message, uint32(key.level), formText, nil)
	}
	places.known[key] = made
	return made
}
