// Writes the conformance list through the Go client: README.md of the folder above defines the list.
//
// Go has no fork: a child is this program, started again with a list of its lines alone.
package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"whitlog"
)

var (
	loggers []*slog.Logger
	scopes  = [][]string{nil}
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func text(field string) string {
	count, digits, _ := strings.Cut(field, "*")
	return strings.Repeat(string(must(hex.DecodeString(digits))), must(strconv.Atoi(count)))
}

func pairs(fields []string) []string {
	var all []string
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		all = append(all, text(name), text(value))
	}
	return all
}

func write(lines []string) {
	for _, line := range lines {
		writeRow(strings.Fields(line))
	}
}

func writeRow(fields []string) {
	log := loggers[must(strconv.Atoi(fields[3]))]
	level := whitlog.Level(must(strconv.Atoi(fields[2]))).Slog()
	ctx := context.Background()
	if scope := must(strconv.Atoi(fields[4])); scope != 0 {
		ctx = whitlog.WithScope(ctx, scopes[scope]...)
	}
	i := must(strconv.ParseInt(fields[5], 10, 64))
	u := must(strconv.ParseUint(fields[6], 10, 64))
	f := math.Float64frombits(must(strconv.ParseUint(fields[7], 10, 64)))
	b, t, s := fields[8] == "1", text(fields[9]), text(fields[10])
	switch fields[1] {
	case "0":
		log.Log(ctx, level, "constant text")
	case "1":
		log.Log(ctx, level, "100% of {braces}")
	case "2":
		log.Log(ctx, level, fmt.Sprintf("signed %d", i))
	case "3":
		log.Log(ctx, level, fmt.Sprintf("unsigned %d", u))
	case "4":
		log.Log(ctx, level, fmt.Sprintf("float %.3f", f))
	case "5":
		log.Log(ctx, level, "text "+t)
	case "6":
		log.Log(ctx, level, fmt.Sprintf("mixed %s %d %s %d", t, i, s, u))
	case "7":
		log.Log(ctx, level, fmt.Sprintf("data %d", i), "Signed", i, "Unsigned", u, "Float", f, "Is", b, "Text", t)
	case "8":
		log = log.With("StackId", s, "StackLevel", i)
		log.WithGroup("exception").LogAttrs(ctx, level, "failed: "+t, slog.String("stacktrace", t))
	case "9":
		log.Log(ctx, level, "many"+strings.Repeat(fmt.Sprintf(" %d", i), 16))
	default:
		log.Log(ctx, level, t)
	}
}

func inProcess(all, lines []string) {
	var list []string
	for _, line := range all {
		if strings.HasPrefix(line, "logger ") || strings.HasPrefix(line, "scope ") {
			list = append(list, line)
		}
	}
	file := must(os.CreateTemp("", "list"))
	must(file.WriteString(strings.Join(append(list, lines...), "\n") + "\n"))
	child := exec.Command(must(os.Executable()), file.Name(), "0")
	child.Stderr = os.Stderr
	if err := child.Run(); err != nil {
		panic(err)
	}
	os.Remove(file.Name())
}

func main() {
	// An error is said already; the program goes on.
	_ = whitlog.Start(whitlog.Settings{Level: whitlog.Trace})
	lines := strings.Split(strings.TrimSpace(string(must(os.ReadFile(os.Args[1])))), "\n")
	for _, line := range lines {
		switch fields := strings.Fields(line); fields[0] {
		case "logger":
			loggers = append(loggers, slog.New(whitlog.NewHandler(text(fields[1]), pairs(fields[2:])...)))
		case "scope":
			scopes = append(scopes, pairs(fields[1:]))
		}
	}
	for at := must(strconv.Atoi(os.Args[2])); at < len(lines); at++ {
		fields, count := strings.Fields(lines[at]), 0
		if fields[0] == "thread" || fields[0] == "process" {
			count = must(strconv.Atoi(fields[1]))
		}
		part := lines[at+1 : at+1+count]
		switch fields[0] {
		case "record":
			writeRow(fields)
		case "thread":
			done := make(chan struct{})
			go func() {
				write(part)
				close(done)
			}()
			<-done
		case "process":
			inProcess(lines, part)
		case "kill":
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		at += count
	}
	whitlog.End()
}
