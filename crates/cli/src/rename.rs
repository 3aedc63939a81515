//! Other names for what is shown: `--dskremap` for disks, `--envremap` and `--envrules` for
//! sensors.
//!
//! Names are changed in a snapshot on its way to the views, so that filters, totals and headings
//! all see the new ones; a recording keeps the kernel's.  An expression is tried once for each
//! name it meets; afterwards a name costs one look into a table.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use regex::bytes::{NoExpand, Regex};
use sample::{Snapshot, SourceDef, Table};
use source::SensorRules;

/// Names that are remembered.  No machine has as many disks; a recording that does is played with
/// the names beyond it as they are.
const NAMES_MAX: usize = 65_536;

/// Bytes that a file of rules may have: collectl's own has 4 KiB.
const RULES_BYTES_MAX: u64 = 1 << 20;

/// What matches, and what stands for it.
#[derive(Clone, Debug)]
struct Rule {
    pattern: Regex,
    with: Vec<u8>,
    /// Whether `${1}` in `with` stands for what the first group matched.
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

fn compile(option: &str, pattern: &str) -> anyhow::Result<Regex> {
    Regex::new(pattern).with_context(|| format!("{option}: '{pattern}' is no regular expression"))
}

/// New names for the instances of sources.
#[derive(Default)]
pub(crate) struct Names {
    of: Vec<NamesOf>,
}

/// New names for the instances of one source.
struct NamesOf {
    source: &'static str,
    rules: Vec<Rule>,
    /// What each name met became.
    known: HashMap<Vec<u8>, Vec<u8>>,
    /// The names given: two disks must not become one.
    taken: HashSet<Vec<u8>>,
}

impl Names {
    /// `--dskremap aaa:bbb,…`: the first match of an expression becomes a text; and `--envremap
    /// /aaa/bbb/,…` for our own sensors.
    ///
    /// # Errors
    /// One line that names the part that is wrong.
    pub(crate) fn new(disks: Option<&str>, sensors: Option<&str>) -> anyhow::Result<Self> {
        let disks = disks.map(disk_rules).transpose()?.map(|rules| ("disk", rules));
        let sensors = sensors.map(sensor_rules).transpose()?.map(|rules| ("environment", rules));
        let of = disks.into_iter().chain(sensors).map(|(source, rules)| NamesOf {
            source,
            rules,
            known: HashMap::new(),
            taken: HashSet::new(),
        });
        Ok(Names { of: of.collect() })
    }

    /// Gives the instances of a snapshot their new names; `defs` are its sources.
    pub(crate) fn apply(&mut self, snapshot: &mut Snapshot, defs: &[&'static SourceDef]) {
        for names in &mut self.of {
            let Some(at) = defs.iter().position(|def| def.name == names.source) else { continue };
            if snapshot.fresh.get(at) == Some(&true)
                && let Some(sample) = snapshot.samples.get_mut(at)
            {
                names.apply(&mut sample.table, defs[at]);
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
            // What a partition is part of has a new name too.
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

fn disk_rules(given: &str) -> anyhow::Result<Vec<Rule>> {
    let rule = |part: &str| -> anyhow::Result<Rule> {
        let split = part.rsplit_once(':').filter(|(pattern, _)| !pattern.is_empty());
        let (pattern, with) = split
            .with_context(|| format!("--dskremap: '{part}' is not PATTERN:TEXT (sd:disk_)"))?;
        Ok(Rule {
            pattern: compile("--dskremap", pattern)?,
            with: with.as_bytes().to_vec(),
            expands: false,
        })
    };
    given.split(',').map(rule).collect()
}

fn sensor_rules(given: &str) -> anyhow::Result<Vec<Rule>> {
    let rule = |part: &str| -> anyhow::Result<Rule> {
        let mut parts = part.split('/');
        let (start, pattern, with, end) = (parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(""), Some(pattern), Some(with), Some(_)) = (start, pattern, with, end) else {
            bail!("--envremap: '{part}' is not /PATTERN/TEXT/ (/Temp/T/)");
        };
        Ok(Rule {
            pattern: compile("--envremap", pattern)?,
            with: with.as_bytes().to_vec(),
            expands: false,
        })
    };
    given.split(',').map(rule).collect()
}

/// The rules of `--envrules` and `--envremap` for the sensors of a collectl recording, which are
/// what `ipmitool` printed.
#[derive(Debug, Default)]
struct Sensors {
    ignored: Vec<Regex>,
    before: Vec<Rule>,
    after: Vec<Rule>,
}

impl SensorRules for Sensors {
    fn ignores(&self, line: &[u8]) -> bool {
        self.ignored.iter().any(|pattern| pattern.is_match(line))
    }

    fn before(&self, told: &[u8]) -> Vec<u8> {
        apply_all(&self.before, told)
    }

    fn after(&self, short: &[u8]) -> Vec<u8> {
        apply_all(&self.after, short)
    }
}

/// Reads a file of rules and the expressions of `--envremap`; `None` if neither is given.
///
/// # Errors
/// The file cannot be read, or a line of it or an expression is none.
pub(crate) fn sensors(
    file: Option<&Path>,
    remap: Option<&str>,
) -> anyhow::Result<Option<Arc<dyn SensorRules>>> {
    if file.is_none() && remap.is_none() {
        return Ok(None);
    }
    let mut sensors = Sensors::default();
    if let Some(file) = file {
        let name = || format!("--envrules: {}", file.display());
        let length = std::fs::metadata(file).with_context(name)?.len();
        ensure!(length <= RULES_BYTES_MAX, "{}: larger than {RULES_BYTES_MAX} bytes", name());
        let text = std::fs::read_to_string(file).with_context(name)?;
        sensors.read(&text).with_context(name)?;
    }
    sensors.after.extend(remap.map(sensor_rules).transpose()?.unwrap_or_default());
    Ok(Some(Arc::new(sensors)))
}

impl Sensors {
    /// Reads `[pre]`, `[post]` and `[ignore]` with lines of `/PATTERN/TEXT/`.
    fn read(&mut self, text: &str) -> anyhow::Result<()> {
        let mut stanza = "";
        for (at, line) in text.lines().enumerate() {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let number = at + 1;
            if line.contains('>') && line.contains('<') && !line.starts_with('/') {
                // collectl's own file begins a machine's rules so; another machine's end ours.
                if stanza.is_empty() { continue } else { break }
            }
            match line {
                "[pre]" | "[post]" | "[ignore]" => {
                    stanza = line;
                    continue;
                }
                _ => ensure!(
                    !stanza.is_empty(),
                    "line {number}: [pre], [post] or [ignore] must come first"
                ),
            }
            let mut parts = line.split('/').skip(1);
            let (Some(pattern), with) = (parts.next(), parts.next()) else {
                bail!("line {number}: '{line}' is not /PATTERN/TEXT/");
            };
            let regex = compile("a rule", pattern).with_context(|| format!("line {number}"))?;
            match (stanza, with) {
                ("[ignore]", _) => self.ignored.push(regex),
                (_, None) => bail!("line {number}: '{line}' is not /PATTERN/TEXT/"),
                ("[pre]", Some(with)) => {
                    let expands = with.contains('$');
                    let with = if expands { in_braces(with) } else { with.to_owned() };
                    self.before.push(Rule { pattern: regex, with: with.into_bytes(), expands });
                }
                (_, Some(with)) => {
                    let with = with.as_bytes().to_vec();
                    self.after.push(Rule { pattern: regex, with, expands: false });
                }
            }
        }
        Ok(())
    }
}

/// Perl's `$1D` is the first group and a `D`; here that is written `${1}D`.
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
    use super::*;

    static DEF: SourceDef = SourceDef {
        name: "disk",
        about: "Disks for tests",
        letters: "D",
        reads: &[],
        instance: &["disk"],
        fields: &[
            sample::Field::counter("reads", sample::Unit::Count, "Reads"),
            sample::Field::text("parent", "What it is part of"),
        ],
        cadence: sample::Cadence::First,
        layouts: &[],
    };

    fn renamed(given: &str, disks: &[&str]) -> Vec<String> {
        let mut names = Names::new(Some(given), None).unwrap();
        let mut snapshot = Snapshot::new(&[&DEF]);
        let mut last = Vec::new();
        for _ in 0..3 {
            let table = &mut snapshot.samples[0].table;
            table.begin();
            for disk in disks {
                table.row(disk.as_bytes()).set_text(1, disks[0].as_bytes());
            }
            snapshot.fresh[0] = true;
            names.apply(&mut snapshot, &[&DEF]);
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
            assert!(Names::new(Some(wrong), None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rules_for_sensors_are_read() {
        let mut rules = Sensors::default();
        rules
            .read("# what\n\n[pre]\n/CPU(\\d) Diode/CPUTemp$1D/\n/Zone /Z/\n[post]\n/Temp/T/\n[ignore]\n/^PSU/\n")
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
            let text = format!("{:#}", Sensors::default().read(wrong).unwrap_err());
            assert!(text.contains(why), "{text}");
        }
        assert!(sensor_rules("/a/b/,/c/d").is_err());
        assert!(sensors(Some(Path::new("/nowhere")), None).is_err());
    }
}
