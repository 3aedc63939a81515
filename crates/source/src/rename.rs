//! Other names for instances: `--dskremap` for disks, `--envremap` and `--envrules` for sensors.
//!
//! Names are changed in snapshots before views get them, so that filters, totals and headings all
//! use the new ones; a recording keeps the kernel's.  Each expression is tried once for each name;
//! after that a name costs one look-up in a table.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use layout::{OptionKind, OptionValue, SourceOption, SourceValues};
use regex::bytes::{NoExpand, Regex};
use sample::{Snapshot, SourceDef, Table};

use crate::options;

pub(crate) static DISK_NAMES: SourceOption = SourceOption {
    name: "dskremap",
    value_name: "LIST",
    help: "Rename disks: replace the first match of a regular expression by a text, PATTERN:TEXT,…",
    kind: OptionKind::Custom(|given| Ok(OptionValue::custom(Rules(disk_rules(given)?)))),
    letters: "dD",
    ..SourceOption::EMPTY
};

pub(crate) static SENSOR_NAMES: SourceOption = SourceOption {
    name: "envremap",
    value_name: "LIST",
    help: "Rename sensors: /PATTERN/TEXT/,…",
    kind: OptionKind::Custom(|given| Ok(OptionValue::custom(Rules(sensor_rules(given)?)))),
    letters: "E",
    ..SourceOption::EMPTY
};

/// The value of an option that gives instances other names.
struct Rules(Vec<Rule>);

/// The most names that are remembered.  No machine has as many disks; in a recording with more, the
/// others keep their names.
const NAMES_MAX: usize = 65_536;

/// The largest file of rules, in bytes; collectl's own has 4 KiB.
const RULES_BYTES_MAX: u64 = 1 << 20;

/// A pattern and its replacement.
#[derive(Clone, Debug)]
struct Rule {
    pattern: Regex,
    with: Vec<u8>,
    /// Whether `${1}` in `with` is replaced by the text that the first group matched.
    expands: bool,
}

impl Rule {
    fn apply(&self, name: &[u8]) -> Vec<u8> {
        match self.expands {
            true => self.pattern.replace(name, self.with.as_slice()).into_owned(),
            false => self.pattern.replace(name, NoExpand(&self.with)).into_owned(),
        }
    }
}

fn apply_all(rules: &[Rule], name: &[u8]) -> Vec<u8> {
    rules.iter().fold(name.to_vec(), |name, rule| rule.apply(&name))
}

fn compile(what: &'static str, pattern: &str) -> Result<Regex, RenameError> {
    Regex::new(pattern).map_err(|source| RenameError::Pattern {
        what,
        pattern: pattern.to_owned(),
        source,
    })
}

/// A rule for names that is invalid.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    /// An invalid regular expression.
    #[error("{what}: '{pattern}' is not a regular expression")]
    Pattern {
        /// The option, or `a rule` of a file.
        what: &'static str,
        /// The expression.
        pattern: String,
        /// The reason why it is invalid.
        #[source]
        source: regex::Error,
    },
    /// A rule for disks that has another form.
    #[error("--dskremap: '{0}' is not PATTERN:TEXT (sd:disk_)")]
    DiskRule(String),
    /// A rule for sensors that has another form.
    #[error("--envremap: '{0}' is not /PATTERN/TEXT/ (/Temp/T/)")]
    SensorRule(String),
    /// The file of rules cannot be read.
    #[error("--envrules: {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The file of rules is too large.
    #[error("--envrules: {}: larger than {RULES_BYTES_MAX} bytes", .0.display())]
    FileTooLarge(PathBuf),
    /// The file of rules has an invalid line.
    #[error("--envrules: {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The line and the reason.
        #[source]
        source: RuleError,
    },
}

/// An invalid line of a file of rules.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// A rule before any heading.
    #[error("line {0}: [pre], [post] or [ignore] must come first")]
    NoHeading(usize),
    /// A line that has another form.
    #[error("line {line}: '{text}' is not /PATTERN/TEXT/")]
    Form {
        /// The number of the line.
        line: usize,
        /// The line.
        text: String,
    },
    /// A line with an invalid regular expression.
    #[error("line {line}")]
    Pattern {
        /// The number of the line.
        line: usize,
        /// The reason why the expression is invalid.
        #[source]
        source: Box<RenameError>,
    },
}

/// New names for the instances of sources.
#[derive(Default)]
pub struct InstanceNames {
    of: Vec<NamesOf>,
}

/// New names for the instances of one source.
struct NamesOf {
    source: &'static str,
    rules: Vec<Rule>,
    /// The new name of each name seen so far.
    known: HashMap<Vec<u8>, Vec<u8>>,
    /// All new names: two disks must not get the same one.
    taken: HashSet<Vec<u8>>,
}

impl InstanceNames {
    /// The names that the options give: with `--dskremap PATTERN:TEXT,…` the first match of an
    /// expression is replaced by the text, with `--envremap /PATTERN/TEXT/,…` likewise.  The
    /// sensors of a collectl recording get their names when they are read ([`SensorRules`]).
    #[must_use]
    pub fn of(given: &SourceValues, is_collectls: bool) -> Self {
        let later = |option: &SourceOption| !(is_collectls && std::ptr::eq(option, &SENSOR_NAMES));
        let of = options().filter(|(_, option)| later(option)).filter_map(|(entry, option)| {
            let Rules(rules) = given.of(option).custom()?;
            Some(NamesOf {
                source: entry.name,
                rules: rules.clone(),
                known: HashMap::new(),
                taken: HashSet::new(),
            })
        });
        InstanceNames { of: of.collect() }
    }

    /// Whether all instances keep their names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Gives the instances of a snapshot their new names; `defs` are its sources.
    pub fn apply(&mut self, snapshot: &mut Snapshot, defs: &[Arc<SourceDef>]) {
        for names in &mut self.of {
            let Some(at) = defs.iter().position(|def| def.name == names.source) else { continue };
            if snapshot.fresh.get(at) == Some(&true)
                && let Some(sample) = snapshot.samples.get_mut(at)
            {
                names.apply(&mut sample.table, &defs[at]);
            }
        }
    }
}

impl NamesOf {
    fn apply(&mut self, table: &mut Table, def: &SourceDef) {
        let parent = def.fields.iter().position(|field| field.name == "parent");
        for row in 0..table.rows() {
            if let Some(new) = self.name_for(table.name(row)) {
                table.rename(row, new);
            }
        }
        let Some(parent) = parent else { return };
        for row in 0..table.rows() {
            // The parent of a partition has a new name, too.
            let new = table.text(row, parent).and_then(|held| self.known.get(held)).cloned();
            if let Some(new) = new {
                table.row_mut(row).set_text(parent, &new);
            }
        }
    }

    fn name_for(&mut self, name: &[u8]) -> Option<&[u8]> {
        if !self.known.contains_key(name) {
            if self.known.len() >= NAMES_MAX {
                return None;
            }
            let mut new = apply_all(&self.rules, name);
            if new.is_empty() || self.taken.contains(&new) {
                new = name.to_vec();
            }
            self.taken.insert(new.clone());
            self.known.insert(name.to_vec(), new);
        }
        self.known.get(name).map(Vec::as_slice)
    }
}

fn disk_rules(given: &str) -> Result<Vec<Rule>, RenameError> {
    let rule = |part: &str| -> Result<Rule, RenameError> {
        let split = part.rsplit_once(':').filter(|(pattern, _)| !pattern.is_empty());
        let (pattern, with) = split.ok_or_else(|| RenameError::DiskRule(part.to_owned()))?;
        Ok(Rule {
            pattern: compile("--dskremap", pattern)?,
            with: with.as_bytes().to_vec(),
            expands: false,
        })
    };
    given.split(',').map(rule).collect()
}

fn sensor_rules(given: &str) -> Result<Vec<Rule>, RenameError> {
    let rule = |part: &str| -> Result<Rule, RenameError> {
        let mut parts = part.split('/');
        let (start, pattern, with, end) = (parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(""), Some(pattern), Some(with), Some(_)) = (start, pattern, with, end) else {
            return Err(RenameError::SensorRule(part.to_owned()));
        };
        Ok(Rule {
            pattern: compile("--envremap", pattern)?,
            with: with.as_bytes().to_vec(),
            expands: false,
        })
    };
    given.split(',').map(rule).collect()
}

/// The rules of `--envrules` and `--envremap` for the sensors of a collectl recording, which
/// contains the output of `ipmitool`.
#[derive(Debug, Default)]
pub struct SensorRules {
    ignored: Vec<Regex>,
    before: Vec<Rule>,
    after: Vec<Rule>,
}

impl SensorRules {
    /// Reads a file of rules, and takes those of `--envremap`; `None` if neither is given.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is wrong.
    pub fn read(file: Option<&Path>, given: &SourceValues) -> Result<Option<Self>, RenameError> {
        let remap = given.of(&SENSOR_NAMES).custom::<Rules>();
        if file.is_none() && remap.is_none() {
            return Ok(None);
        }
        let mut rules = SensorRules::default();
        if let Some(path) = file {
            let failed = |source| RenameError::Read { path: path.to_owned(), source };
            if std::fs::metadata(path).map_err(failed)?.len() > RULES_BYTES_MAX {
                return Err(RenameError::FileTooLarge(path.to_owned()));
            }
            let text = std::fs::read_to_string(path).map_err(failed)?;
            rules
                .parse(&text)
                .map_err(|source| RenameError::File { path: path.to_owned(), source })?;
        }
        rules.after.extend(remap.into_iter().flat_map(|Rules(rules)| rules.clone()));
        Ok(Some(rules))
    }

    /// Whether to skip a line of the output of `ipmitool`.
    #[must_use]
    pub fn ignores(&self, line: &[u8]) -> bool {
        self.ignored.iter().any(|pattern| pattern.is_match(line))
    }

    /// The name in place of the one at the beginning of a line.
    #[must_use]
    pub fn before(&self, name: &[u8]) -> Vec<u8> {
        apply_all(&self.before, name)
    }

    /// The short name in place of the one that was made from the name, still without its number.
    #[must_use]
    pub fn after(&self, short: &[u8]) -> Vec<u8> {
        apply_all(&self.after, short)
    }

    /// Parses `[pre]`, `[post]` and `[ignore]` with lines of `/PATTERN/TEXT/`.
    fn parse(&mut self, text: &str) -> Result<(), RuleError> {
        let mut heading = "";
        for (at, line) in text.lines().enumerate() {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let number = at + 1;
            if line.contains('>') && line.contains('<') && !line.starts_with('/') {
                // In collectl's own file such a line begins the rules of a machine; those of the
                // next machine end ours.
                if heading.is_empty() { continue } else { break }
            }
            match line {
                "[pre]" | "[post]" | "[ignore]" => heading = line,
                _ if heading.is_empty() => return Err(RuleError::NoHeading(number)),
                _ => self.rule(heading, number, line)?,
            }
        }
        Ok(())
    }

    /// Adds the rule of a line.
    fn rule(&mut self, heading: &str, number: usize, line: &str) -> Result<(), RuleError> {
        let form = || RuleError::Form { line: number, text: line.to_owned() };
        let mut parts = line.split('/').skip(1);
        let (Some(pattern), with) = (parts.next(), parts.next()) else { return Err(form()) };
        let pattern = compile("a rule", pattern)
            .map_err(|source| RuleError::Pattern { line: number, source: Box::new(source) })?;
        if heading == "[ignore]" {
            self.ignored.push(pattern);
            return Ok(());
        }
        let with = with.ok_or_else(form)?;
        if heading == "[pre]" {
            let expands = with.contains('$');
            let with = if expands { in_braces(with) } else { with.to_owned() };
            self.before.push(Rule { pattern, with: with.into_bytes(), expands });
        } else {
            self.after.push(Rule { pattern, with: with.as_bytes().to_vec(), expands: false });
        }
        Ok(())
    }
}

/// Perl's `$1D` is the first group and a `D`; the crate `regex` needs `${1}D`.
fn in_braces(with: &str) -> String {
    let mut text = String::new();
    let mut rest = with;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = after.split_at(digits);
        text.push_str(&if digits == 0 { "$$".to_owned() } else { format!("${{{number}}}") });
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::parse_option;

    static DEF: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
        Arc::new(SourceDef {
            name: "disk".into(),
            about: "Disks for tests".into(),
            letters: "D".into(),
            instance: vec!["disk".into()].into(),
            fields: vec![
                sample::Field::counter("reads", sample::Unit::Count, "Reads"),
                sample::Field::text("parent", "What it is part of"),
            ]
            .into(),
            cadence: sample::Cadence::First,
        })
    });

    fn renamed(given: &str, disks: &[&str]) -> Vec<String> {
        let given =
            SourceValues::default().with(&DISK_NAMES, parse_option(&DISK_NAMES, given).unwrap());
        let mut names = InstanceNames::of(&given, false);
        let mut snapshot = Snapshot::new(std::slice::from_ref(&DEF));
        let mut last = Vec::new();
        for _ in 0..3 {
            let table = &mut snapshot.samples[0].table;
            table.begin();
            for disk in disks {
                table.row(disk.as_bytes()).set_text(1, disks[0].as_bytes());
            }
            snapshot.fresh[0] = true;
            names.apply(&mut snapshot, std::slice::from_ref(&DEF));
            let table = &snapshot.samples[0].table;
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            last = (0..table.rows()).map(|row| text(table.name(row))).collect();
            assert_eq!(text(table.text(0, 1).unwrap()), last[0], "the parent's name follows");
        }
        last
    }

    #[test]
    fn disks_get_the_names_asked_for() {
        assert_eq!(renamed("sd:disk_", &["sda", "dm-0", "sdsd"]), ["disk_a", "dm-0", "disk_sd"]);
        assert_eq!(renamed("^c0:,d1$:X", &["c0d1", "c0"]), ["X", "c0"], "a name must remain");
        assert_eq!(renamed("sd.:disk", &["sda", "sdb"]), ["disk", "sdb"], "two stay two");
        assert_eq!(renamed("(s)d:$1", &["sda"]), ["$1a"], "as it stands");
        for wrong in ["sda", ":x", "(:x", "a:b,"] {
            assert!(parse_option(&DISK_NAMES, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rules_for_sensors_are_read() {
        let mut rules = SensorRules::default();
        rules
            .parse("# what\n\n[pre]\n/CPU(\\d) Diode/CPUTemp$1D/\n/Zone /Z/\n[post]\n/Temp/T/\n[ignore]\n/^PSU/\n")
            .unwrap();
        assert_eq!(rules.before(b"CPU2 Diode"), b"CPUTemp2D");
        assert_eq!(rules.before(b"Zone 1"), b"Z1");
        assert_eq!(rules.after(b"CTemp"), b"CT");
        assert!(rules.ignores(b"PSU1,3,Volts,ok") && !rules.ignores(b"Fan"));
        for (wrong, why) in [
            ("/a/b/", "line 1: [pre], [post] or [ignore] must come first"),
            ("[pre]\na", "line 2: 'a' is not"),
            ("[pre]\n/a", "line 2: '/a' is not"),
            ("[pre]\n\n/(/x/", "line 3"),
        ] {
            let text = SensorRules::default().parse(wrong).unwrap_err().to_string();
            assert!(text.contains(why), "{text}");
        }
        assert!(sensor_rules("/a/b/,/c/d").is_err());
        assert!(SensorRules::read(Some(Path::new("/nowhere")), &SourceValues::default()).is_err());
    }
}
