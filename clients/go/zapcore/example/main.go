// Logs through zap into whit's rings: what each kind of field becomes.
package main

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"whitlog"
	"whitlog/zapcore"
)

type mount struct{ panics bool }

func (m *mount) String() string {
	if m.panics {
		panic("no name")
	}
	return "mount 7"
}

func main() {
	log := zap.New(zapcore.NewCore("CONTROL/PM01", "Antenna", "DV01"), zap.AddCaller())
	log.Info("numbers", zap.Int("i", -3), zap.Uint64("u", 1<<63), zap.Float64("f", 2), zap.Float32("g", 0.5),
		zap.Bool("b", true), zap.Duration("d", time.Second))
	log.Warn("texts", zap.String("t", "ü"), zap.Stringer("s", &mount{}), zap.Stringer("p", &mount{true}),
		zap.Binary("raw", []byte{1, 2}), zap.Strings("all", []string{"x", "y"}))
	log.With(zap.String("unit", "7"), zap.Namespace("disk")).With(zap.Int("at", 1)).
		Error("groups", zap.Dict("size", zap.Int("bytes", 2)), zap.Error(errors.New("full")))
	log.Named("other").Debug("plain")
	log.Named("other").With(zap.Int("n", 1)).Info("named")
	func() {
		defer func() { _ = recover() }()
		log.DPanic("no panic yet")
		log.Panic("panic")
	}()
	whitlog.End()
}
