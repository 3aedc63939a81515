package whitlog

// The layout of the files: docs/format-log-ring.md defines it.
const (
	version  = 1
	page     = 4096
	flagWake = 2

	// Of the process file.
	pDictionaryLength = 1024
	pPairs            = 1032
	pFlush            = 1040
	pEnded            = 1044
	pDropped          = 1048
	pRings            = 1176
	pLoggers          = 1180
	pSleeper          = 1344
	pCalibration      = 8192
	loggersAt         = 12288
	loggersMax        = 1024
	loggerBytes       = 256
	loggerName        = 112
	loggerNameMax     = 144
	dictionaryAt      = 274432
	dictionaryMax     = 16 << 20

	// Of a ring.
	rWrite     = 256
	rEnded     = 272
	rSuccessor = 280
	rDropped   = 288
	rMarks     = 512
	markBytes  = 32
	rData      = 4096
	reserve    = 128
	noRing     = 1<<32 - 1

	// Of a record.
	headBytes      = 24
	recordMax      = 524280
	flagAttributes = 0x10
	flagCut        = 0x20
	flagLocal      = 0x80
	cutBytes       = 24
	kindLog        = 1
	kindDropped    = 2
	kindNext       = 5

	// Types of values.
	typeSigned   = 1
	typeUnsigned = 2
	typeFloat    = 3
	typeBool     = 4
	typeText     = 6

	// Forms of call sites.
	formText   = 3
	formBraces = 4
)

func padded(bytes int) int { return (bytes + 7) &^ 7 }

// value is an argument of a record, or a name and a value of its data.
type value struct {
	name string
	text string
	word uint64
	kind byte
}

func (v *value) bytes(textMax int) int {
	if v.kind != typeText {
		return 8
	}
	return padded(4 + min(len(v.text), textMax))
}
