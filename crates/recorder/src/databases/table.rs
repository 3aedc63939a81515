//! The table that says what round-robin databases keep, and for how long.
//!
//! ```text
//! cpu        user,system,idle    1s/1h 10s/1d 5m/1y 1h/1y/max
//! disk[sd*]  reads,writes        10s/1d
//! disk[*]    -
//! ```
//!
//! A line for each choice; blanks between its words, comments after `#`.  The first word is a
//! source as a whole, or its instances by a pattern (`*` any text, `?` any byte); `*` as source is
//! every other one.  Then the fields, `*` for all or `-` for none, and the archives.  The first
//! line that fits decides.

use rrd::number::scaled_duration;
use text::wildcard::Wildcards;

/// Most bytes of a table.
pub(crate) const TABLE_BYTES_MAX: u64 = 64 << 10;

/// Most archives of a file.
const ARCHIVES_MAX: usize = 16;

/// Most rows of an archive: 12 days of seconds, and 8 MB for each field.
const ROWS_MAX: u64 = 1 << 20;

/// What a line says is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text}")]
pub struct TableError {
    /// From 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub text: String,
}

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseTable {
    pub(crate) lines: Vec<TableLine>,
}

/// What is kept of some sources or instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableLine {
    /// From 1.
    pub(crate) line: usize,
    /// A source; `None` for every one.
    pub(crate) source: Option<String>,
    /// Which instances; `None` for the source as a whole.
    pub(crate) instances: Option<String>,
    pub(crate) fields: Fields,
    pub(crate) archives: Vec<ArchiveSpan>,
}

/// Which fields of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    Nothing,
    All,
    Named(Vec<String>),
}

/// An archive: how often a row, for how long, by which function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArchiveSpan {
    pub(crate) step_seconds: u64,
    pub(crate) span_seconds: u64,
    /// `AVERAGE`, `MIN`, `MAX` or `LAST`.
    pub(crate) function: &'static str,
}

impl DatabaseTable {
    /// Reads a table.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut lines = Vec::new();
        for (index, text) in text.lines().enumerate() {
            let line = index + 1;
            let text = text.split('#').next().unwrap_or_default();
            let words: Vec<&str> = text.split_whitespace().collect();
            if let [what, rest @ ..] = words.as_slice() {
                let read = parse_line(line, what, rest);
                lines.push(read.map_err(|text| TableError { line, text })?);
            }
        }
        match lines.is_empty() {
            true => Err(TableError { line: 1, text: "the table keeps nothing".into() }),
            false => Ok(DatabaseTable { lines }),
        }
    }

    /// The sources that it names, and whether as a whole, or by their instances.
    pub fn sources(&self) -> impl Iterator<Item = NamedSource<'_>> {
        self.lines.iter().filter_map(|line| {
            let source = line.source.as_deref()?;
            let is_whole = line.instances.is_none();
            (line.fields != Fields::Nothing).then_some(NamedSource {
                line: line.line,
                source,
                is_whole,
            })
        })
    }

    /// What is kept of a source as a whole.
    pub(crate) fn whole(&self, source: &str) -> Option<&TableLine> {
        self.lines_of(source).find(|line| line.instances.is_none())
    }

    /// The lines about instances of a source.
    pub(crate) fn instances(&self, source: &str) -> impl Iterator<Item = &TableLine> {
        self.lines_of(source).filter(|line| line.instances.is_some())
    }

    fn lines_of(&self, source: &str) -> impl Iterator<Item = &TableLine> {
        let is_of = move |line: &&TableLine| line.source.as_deref().is_none_or(|of| of == source);
        self.lines.iter().filter(is_of)
    }
}

/// A source that a table names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedSource<'a> {
    /// The line, from 1.
    pub line: usize,
    /// The source's name.
    pub source: &'a str,
    /// Whether as a whole.
    pub is_whole: bool,
}

impl TableLine {
    /// Whether the line is about an instance of this name.
    pub(crate) fn fits(&self, instance: &[u8]) -> bool {
        self.instances
            .as_deref()
            .is_some_and(|pattern| Wildcards::SIMPLE.fit(pattern.as_bytes(), instance))
    }
}

fn parse_line(line: usize, what: &str, rest: &[&str]) -> Result<TableLine, String> {
    let (source, instances) = match what.split_once('[') {
        None => (what, None),
        Some((source, pattern)) => {
            let pattern = pattern.strip_suffix(']').filter(|pattern| !pattern.is_empty());
            let pattern = pattern.ok_or_else(|| {
                format!("'{what}': give SOURCE or SOURCE[PATTERN], as in disk[sd*]")
            })?;
            (source, Some(pattern.to_owned()))
        }
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let source = match source {
        "*" => None,
        _ if !source.is_empty() && source.bytes().all(is_name) => Some(source.to_owned()),
        _ => return Err(format!("'{source}' is no name of a source")),
    };
    let Some((fields, archives)) = rest.split_first() else {
        return Err(format!("after '{what}' give fields, such as user,system, or -"));
    };
    let fields = match *fields {
        "-" => Fields::Nothing,
        "*" => Fields::All,
        names => Fields::Named(names.split(',').map(str::to_owned).collect()),
    };
    if let Fields::Named(names) = &fields {
        for (index, name) in names.iter().enumerate() {
            if name.is_empty() || !name.bytes().all(is_name) {
                return Err(format!("'{name}' is no name of a field"));
            }
            if names[..index].contains(name) {
                return Err(format!("the field '{name}' is there twice"));
            }
        }
    }
    let is_nothing = fields == Fields::Nothing;
    if is_nothing != archives.is_empty() {
        return Err(match is_nothing {
            true => format!("'-' keeps nothing, so '{}' has no meaning", archives.join(" ")),
            false => "give archives, such as 10s/1d 5m/1y".into(),
        });
    }
    if archives.len() > ARCHIVES_MAX {
        return Err(format!("{} archives; at most {ARCHIVES_MAX}", archives.len()));
    }
    let archives = archives.iter().map(|text| parse_archive(text)).collect::<Result<_, _>>()?;
    Ok(TableLine { line, source, instances, fields, archives })
}

/// Reads `10s/1d` or `5m/1y/max`.
fn parse_archive(text: &str) -> Result<ArchiveSpan, String> {
    let mut parts = text.split('/');
    let (step, span) = (parts.next().unwrap_or_default(), parts.next());
    let span = span.ok_or_else(|| format!("'{text}': give STEP/SPAN, as in 10s/1d"))?;
    let function = match parts.next().map(str::to_ascii_lowercase).as_deref() {
        None | Some("average") => "AVERAGE",
        Some("min") => "MIN",
        Some("max") => "MAX",
        Some("last") => "LAST",
        Some(other) => {
            return Err(format!("'{text}': '{other}' is none of average, min, max, last"));
        }
    };
    if parts.next().is_some() {
        return Err(format!("'{text}': more than STEP/SPAN/FUNCTION"));
    }
    let (step_seconds, span_seconds) = (seconds(step, text)?, seconds(span, text)?);
    if span_seconds < step_seconds {
        return Err(format!("'{text}' spans less than one step"));
    }
    if span_seconds / step_seconds > ROWS_MAX {
        return Err(format!("'{text}' has more than {ROWS_MAX} rows"));
    }
    Ok(ArchiveSpan { step_seconds, span_seconds, function })
}

/// Reads `90`, `90s`, `5m`, `1h`, `1d`, `1w`, `1M` or `1y`.
fn seconds(text: &str, archive: &str) -> Result<u64, String> {
    let units = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let read = scaled_duration(text, 1).ok().filter(|_| units.len() <= 1);
    let wrong =
        || format!("'{archive}': '{text}' is no duration: a number and one of s m h d w M y");
    read.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_table_is_read() {
        let table = DatabaseTable::parse(view::export::DEFAULT_TABLE).unwrap();
        let cpu = table.whole("cpu").unwrap();
        assert_eq!(cpu.archives.len(), 4);
        // The times of a CPU add up: all but guest times, which are parts of others.
        let times = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
        assert_eq!(cpu.fields, Fields::Named(times.map(str::to_owned).to_vec()));
        let year =
            ArchiveSpan { step_seconds: 300, span_seconds: 366 * 86_400, function: "AVERAGE" };
        assert_eq!(cpu.archives[2], year);
        assert_eq!(cpu.archives[3].function, "MAX");
        let disk = |name: &[u8]| table.instances("disk").find(|line| line.fits(name)).unwrap();
        assert_eq!(disk(b"loop3").fields, Fields::Nothing);
        assert_eq!(disk(b"sda").archives.len(), 3);
        assert_eq!(table.whole("tcp").unwrap().fields, Fields::All);
        let names: Vec<_> = table.sources().map(|named| (named.source, named.is_whole)).collect();
        assert_eq!(names[..2], [("cpu", true), ("memory", true)]);
        assert!(names.contains(&("disk", false)) && names.contains(&("disk", true)));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, said) in [
            ("", "line 1: the table keeps nothing"),
            ("# no\n\ncpu", "line 3: after 'cpu' give fields"),
            ("cpu user", "line 1: give archives"),
            ("cpu -\ncpu - 1s/1h", "line 2: '-' keeps nothing, so '1s/1h' has no meaning"),
            ("cpu user 1s", "line 1: '1s': give STEP/SPAN"),
            ("cpu user 1s/1h/mean", "line 1: '1s/1h/mean': 'mean' is none of"),
            ("cpu user 1s/1h/max/2", "more than STEP/SPAN/FUNCTION"),
            ("cpu user 0s/1h", "'0s' is no duration"),
            ("cpu user 1x/1h", "'1x' is no duration"),
            ("cpu user 1min/1h", "'1min' is no duration"),
            ("cpu user 1h/1s", "spans less than one step"),
            ("cpu user 1s/99999999999999999999y", "has more than 1048576 rows"),
            ("cpu user,,idle 1s/1h", "'' is no name of a field"),
            ("cpu user,user 1s/1h", "'user' is there twice"),
            ("cpu us\u{e9}r 1s/1h", "is no name of a field"),
            ("disk[sda user 1s/1h", "give SOURCE or SOURCE[PATTERN]"),
            ("disk[] user 1s/1h", "give SOURCE or SOURCE[PATTERN]"),
            ("../x user 1s/1h", "'../x' is no name of a source"),
            ("[a] user 1s/1h", "'' is no name of a source"),
        ] {
            let error = DatabaseTable::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
        let many = format!("cpu user {}", "1s/1h ".repeat(17));
        assert!(DatabaseTable::parse(&many).unwrap_err().to_string().contains("17 archives"));
    }

    #[test]
    fn patterns() {
        for (pattern, name, fits) in [
            ("*", "", true),
            ("sd*", "sda", true),
            ("sd*", "nvme0n1", false),
            ("sd?", "sda1", false),
            ("*a*b", "xaxxbxb", true),
            ("*a*b", "xaxxbx", false),
            ("eth0", "eth0", true),
            ("eth0", "eth01", false),
        ] {
            assert_eq!(
                Wildcards::SIMPLE.fit(pattern.as_bytes(), name.as_bytes()),
                fits,
                "{pattern} {name}"
            );
        }
        let hostile = "*a".repeat(40);
        assert!(!Wildcards::SIMPLE.fit(hostile.as_bytes(), &[b'a'; 4_000][..39]));
    }
}
