// Package zapcore stores the records of zap into whit's rings.
//
//	log := zap.New(zapcore.NewCore("CONTROL/PM01", "Antenna", "DV01"), zap.AddCaller())
//	log.Info("antenna moves", zap.Float64("degrees", 45.25))
//
// A module of its own, so that the client itself needs no other.
package zapcore

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math"
	"sort"
	"sync"
	"time"

	"go.uber.org/zap/zapcore"

	"whitlog"
)

// syncTime is how long Sync waits: zap calls it at the end of a program.
const syncTime = 5 * time.Second

// core is a zapcore.Core over handlers of the client, one for each name that loggers are given.
type core struct {
	logger string
	pairs  []string
	// with is what With has added, in order.
	with    []slog.Attr
	groups  []string
	handler slog.Handler
	named   *sync.Map
}

// NewCore gives the core of a logger; names and values of its context follow, in turn.  A logger that Named gives a
// name is the logger of this name.
func NewCore(logger string, pairs ...string) zapcore.Core {
	c := &core{logger: logger, pairs: pairs, named: &sync.Map{}}
	c.handler = whitlog.NewHandler(logger, pairs...)
	return c
}

func levelOf(level zapcore.Level) slog.Level {
	switch {
	case level < zapcore.InfoLevel:
		return whitlog.Debug.Slog()
	case level < zapcore.WarnLevel:
		return whitlog.Info.Slog()
	case level < zapcore.ErrorLevel:
		return whitlog.Warning.Slog()
	case level < zapcore.DPanicLevel:
		return whitlog.Error.Slog()
	case level < zapcore.FatalLevel:
		return whitlog.Critical.Slog()
	}
	return whitlog.Alert.Slog()
}

// Enabled says whether records of a level are made.
func (c *core) Enabled(level zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), levelOf(level))
}

// Check adds the core to those that store an entry.
func (c *core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.of(entry.LoggerName).Enabled(context.Background(), levelOf(entry.Level)) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// of gives the handler of a name.
func (c *core) of(name string) slog.Handler {
	if name == "" || name == c.logger {
		return c.handler
	}
	if known, is := c.named.Load(name); is {
		return known.(slog.Handler)
	}
	made := c.filled(whitlog.NewHandler(name, c.pairs...))
	known, _ := c.named.LoadOrStore(name, made)
	return known.(slog.Handler)
}

func (c *core) filled(handler slog.Handler) slog.Handler {
	if len(c.with) == 0 {
		return handler
	}
	return handler.WithAttrs(c.with)
}

// With gives a core whose records have these fields, too.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	more := *c
	more.named = &sync.Map{}
	more.with = append([]slog.Attr(nil), c.with...)
	more.with, more.groups = appendFields(more.with, append([]string(nil), c.groups...), fields)
	more.handler = more.filled(whitlog.NewHandler(c.logger, c.pairs...))
	return &more
}

// Write stores an entry.
func (c *core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	record := slog.NewRecord(entry.Time, levelOf(entry.Level), entry.Message, entry.Caller.PC)
	attributes, _ := appendFields(nil, c.groups, fields)
	if entry.Stack != "" {
		attributes = append(attributes, slog.String("exception.stacktrace", entry.Stack))
	}
	record.AddAttrs(attributes...)
	return c.of(entry.LoggerName).Handle(context.Background(), record)
}

// Sync waits until the proxy has read the records, for some seconds at most.
func (c *core) Sync() error {
	whitlog.Flush(whitlog.Read, syncTime)
	return nil
}

// appendFields appends fields as attributes; a namespace is a group for those behind it.
func appendFields(to []slog.Attr, groups []string, fields []zapcore.Field) ([]slog.Attr, []string) {
	for _, field := range fields {
		if field.Type == zapcore.NamespaceType {
			groups = append(groups[:len(groups):len(groups)], field.Key)
			continue
		}
		if field.Type == zapcore.SkipType {
			continue
		}
		one := attribute(field)
		for at := len(groups) - 1; at >= 0; at-- {
			one = slog.Attr{Key: groups[at], Value: slog.GroupValue(one)}
		}
		to = append(to, one)
	}
	return to, groups
}

// attribute is a field as an attribute of log/slog.
func attribute(field zapcore.Field) slog.Attr {
	switch field.Type {
	case zapcore.StringType:
		return slog.String(field.Key, field.String)
	case zapcore.Int64Type, zapcore.Int32Type, zapcore.Int16Type, zapcore.Int8Type:
		return slog.Int64(field.Key, field.Integer)
	case zapcore.Uint64Type, zapcore.Uint32Type, zapcore.Uint16Type, zapcore.Uint8Type, zapcore.UintptrType:
		return slog.Uint64(field.Key, uint64(field.Integer))
	case zapcore.Float64Type:
		return slog.Float64(field.Key, math.Float64frombits(uint64(field.Integer)))
	case zapcore.Float32Type:
		return slog.Float64(field.Key, float64(math.Float32frombits(uint32(field.Integer))))
	case zapcore.BoolType:
		return slog.Bool(field.Key, field.Integer == 1)
	case zapcore.DurationType:
		return slog.Duration(field.Key, time.Duration(field.Integer))
	case zapcore.ErrorType:
		return slog.Any(field.Key, field.Interface)
	}
	return encoded(field)
}

// encoded is a field that zap writes by an encoder: a time, bytes, an object, an array or anything else.
func encoded(field zapcore.Field) (one slog.Attr) {
	defer func() {
		if why := recover(); why != nil {
			one = slog.String(field.Key, fmt.Sprintf("[its text cannot be made: %v]", why))
		}
	}()
	into := zapcore.NewMapObjectEncoder()
	field.AddTo(into)
	if field.Type == zapcore.InlineMarshalerType {
		return slog.Attr{Value: groupOf(into.Fields)}
	}
	value, is := into.Fields[field.Key]
	if !is {
		// zap says so beside it.
		return slog.String(field.Key, fmt.Sprintf("[its text cannot be made: %v]", into.Fields[field.Key+"Error"]))
	}
	return slog.Attr{Key: field.Key, Value: valueOf(value)}
}

func groupOf(fields map[string]any) slog.Value {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	sort.Strings(names)
	attributes := make([]slog.Attr, 0, len(names))
	for _, name := range names {
		attributes = append(attributes, slog.Attr{Key: name, Value: valueOf(fields[name])})
	}
	return slog.GroupValue(attributes...)
}

func valueOf(of any) slog.Value {
	switch of := of.(type) {
	case map[string]any:
		return groupOf(of)
	case []byte:
		return slog.StringValue(base64.StdEncoding.EncodeToString(of))
	}
	return slog.AnyValue(of)
}
