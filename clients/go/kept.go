package whitlog

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// fitsPattern says whether a name fits a pattern, in which * stands for any text; an empty one fits all.
func fitsPattern(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, is := strings.CutPrefix(name, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		if at := strings.Index(rest, part); is && at >= 0 {
			rest = rest[at+len(part):]
		} else {
			return false
		}
	}
	return is && strings.HasSuffix(rest, parts[len(parts)-1])
}

// applyKept gives a logger the levels that were set at run time and are to last: the file levels of the folder.
func (p *process) applyKept(index int, logger string) {
	path := filepath.Join(p.folder, "levels")
	if facts, err := os.Lstat(path); err != nil || !facts.Mode().IsRegular() || facts.Size() > 256<<10 {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	known := p.levels(uint32(index))
	central, local := known[1], known[2]
	lines := strings.Split(string(text), "\n")
	for _, line := range lines[:min(len(lines), 256)] {
		fields := strings.Split(line, "\t")
		if len(fields) != 5 || !fitsPattern(fields[0], logger) || !fitsPattern(fields[1], p.host) || !fitsPattern(fields[2], p.name) {
			continue
		}
		ofCentral, isOne := keptLevel(fields[3], central)
		ofLocal, isOther := keptLevel(fields[4], local)
		if isOne && isOther {
			central, local = ofCentral, ofLocal
		}
	}
	p.setLevels(uint32(index), central, local)
}

func keptLevel(text string, now byte) (byte, bool) {
	if text == "-" {
		return now, true
	}
	number, err := strconv.ParseUint(text, 10, 8)
	return byte(number), err == nil && (number <= 11 || number == 99)
}
