//! From lines to values: `Key: value`, `Key[target]: value`, continuation lines, and the default,
//! prefix and postfix of each key (`[_]`, `[^]`, `[$]`), which hold from their line on.
//!
//! The order of the file decides, as in MRTG: a target takes the defaults and prefixes that are
//! known at each of its own lines, and a value is finished when the next key begins.
//!
//! Keys and values borrow from the text wherever they are what it says, and a target's values are a
//! short list: a line costs no allocation but the room in these lists.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::problem::{ConfigLine, Problems, without_communities};

use super::rules;
use super::text::Line;

/// Targets of one configuration.
const TARGETS_MAX: usize = 1_000_000;
/// Bytes of one value: a long `PageTop` has some thousands.
const VALUE_MAX: usize = 1 << 20;

/// A value and the line on which it begins.
#[derive(Clone, Debug)]
pub(super) struct RawValue<'t> {
    pub(super) text: Cow<'t, str>,
    pub(super) at: ConfigLine,
}

/// Where a target has a value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The default of its key, which a line of the target replaces.
    Default,
    /// The prefix of its key, which a line of the target follows.
    Prefix,
    /// A line of the target.
    Own,
}

/// A value of a target, with its key in lower case.
#[derive(Debug)]
struct TargetValue<'t> {
    key: Cow<'t, str>,
    value: RawValue<'t>,
    origin: Origin,
}

/// The values of a target.
#[derive(Debug, Default)]
pub(super) struct RawTarget<'t> {
    pub(super) name: Cow<'t, str>,
    /// The first line that names it.
    pub(super) at: Option<ConfigLine>,
    values: Vec<TargetValue<'t>>,
    /// The tag of each key.
    tags: Vec<u32>,
    /// A bit for each tag: most keys that are looked for are in no target.
    tag_bits: u64,
    /// The defaults and prefixes that it has, by how often these had changed.
    inherited: usize,
}

/// What differs in most keys, so that others are passed over quickly.
#[inline(always)]
fn tag(key: &str) -> u32 {
    let bytes = key.as_bytes();
    let byte = |at: usize| bytes.get(at).map_or(0, |byte| u32::from(*byte));
    let length = bytes.len();
    length as u32 & 0xff
        | byte(0) << 8
        | byte(length / 2) << 16
        | byte(length.wrapping_sub(1)) << 24
}

/// One of 64 bits for a tag.
#[inline(always)]
fn bit(tag: u32) -> u64 {
    1 << (tag.wrapping_mul(0x9E37_79B1) >> 26)
}

impl<'t> RawTarget<'t> {
    /// The value of a key.
    #[inline(always)]
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        if self.tag_bits & bit(tag(key)) == 0 {
            return None;
        }
        self.find(key).map(|at| &*self.values[at].value.text)
    }

    /// Where a key is set, or else the target's first line.
    pub(super) fn place(&self, key: &str) -> Option<&ConfigLine> {
        self.find(key).map(|at| &self.values[at].value.at).or(self.at.as_ref())
    }

    /// Whether a key begins with a word.
    pub(super) fn has_keys_of(&self, word: &str) -> bool {
        self.values.iter().any(|one| one.key.starts_with(word))
    }

    #[inline(never)]
    fn find(&self, key: &str) -> Option<usize> {
        let wanted = tag(key);
        let mut tags = self.tags.iter().zip(&self.values);
        tags.position(|(tag, one)| *tag == wanted && one.key == key)
    }

    fn add(&mut self, key: Cow<'t, str>, value: RawValue<'t>, origin: Origin) -> usize {
        let tag = tag(&key);
        self.tag_bits |= bit(tag);
        self.tags.push(tag);
        self.values.push(TargetValue { key, value, origin });
        self.values.len() - 1
    }
}

/// All values of a configuration.
#[derive(Debug, Default)]
pub(super) struct RawConfig<'t> {
    pub(super) globals: BTreeMap<Cow<'t, str>, RawValue<'t>>,
    pub(super) targets: Vec<RawTarget<'t>>,
}

/// A finished value, to be checked: its key, the bracket's text (`None` for a global one).
pub(super) struct Finished<'a> {
    pub(super) key: &'a str,
    pub(super) bracket: Option<&'a str>,
    pub(super) value: &'a RawValue<'a>,
}

/// What the latest key line was for.
#[derive(Clone, Copy, Debug)]
enum Current {
    Global,
    Default,
    Prefix,
    Postfix,
    Target(usize),
}

/// A line that begins a value.
enum KeyLine<'t> {
    Bracket { key: &'t str, name: &'t str, value: &'t str },
    Global { key: &'t str, value: &'t str },
}

/// Spellings of keys that were seen, each with the key in lower case.
struct KeyCache<'t> {
    slots: [(&'t str, &'static str); KEY_SLOTS],
}

/// Keys that are kept: a file has some ten different ones for its targets.
const KEY_SLOTS: usize = 64;

impl<'t> KeyCache<'t> {
    /// A key in lower case; of a keyword without a copy.
    fn lower(&mut self, key: &'t str) -> Cow<'t, str> {
        let tag = tag(key);
        let slot = &mut self.slots[(tag ^ tag >> 11 ^ tag >> 22) as usize % KEY_SLOTS];
        if slot.0 == key && !key.is_empty() {
            return Cow::Borrowed(slot.1);
        }
        let lower = key.to_ascii_lowercase();
        match rules::known(&lower) {
            Some(known) => {
                *slot = (key, known);
                Cow::Borrowed(known)
            }
            None => Cow::Owned(lower),
        }
    }
}

struct Assigner<'t, 'a> {
    raw: RawConfig<'t>,
    keys: KeyCache<'t>,
    index: HashMap<Cow<'t, str>, usize>,
    /// The target of the latest line that was of one.
    latest: usize,
    defaults: BTreeMap<Cow<'t, str>, RawValue<'t>>,
    prefixes: BTreeMap<Cow<'t, str>, RawValue<'t>>,
    postfixes: BTreeMap<Cow<'t, str>, Cow<'t, str>>,
    /// How often defaults and prefixes have changed, from 1.
    changes: usize,
    current: Option<(Cow<'t, str>, Current)>,
    check: &'a mut dyn FnMut(&Finished<'_>, &mut Problems),
    problems: &'a mut Problems,
}

/// Assigns all lines; `check` is called for each value as soon as it is finished.
pub(super) fn assign<'t>(
    lines: impl Iterator<Item = Line<'t>>,
    problems: &mut Problems,
    check: &mut dyn FnMut(&Finished<'_>, &mut Problems),
) -> RawConfig<'t> {
    let mut assigner = Assigner {
        raw: RawConfig::default(),
        keys: KeyCache { slots: [("", ""); KEY_SLOTS] },
        index: HashMap::new(),
        latest: 0,
        defaults: BTreeMap::new(),
        prefixes: BTreeMap::new(),
        postfixes: BTreeMap::new(),
        changes: 1,
        current: None,
        check,
        problems,
    };
    for line in lines {
        assigner.line(&line);
    }
    assigner.finish();
    assigner.raw
}

impl<'t> Assigner<'t, '_> {
    fn line(&mut self, line: &Line<'t>) {
        let text = line.text.strip_suffix('\r').unwrap_or(line.text).trim_end_matches(' ');
        let begin = text.trim_start_matches(' ');
        if begin.is_empty() || begin.starts_with('#') {
            return;
        }
        let is_indented = text.starts_with(|c: char| c.is_ascii_whitespace());
        if is_indented && self.current.is_some() {
            self.continuation(text.trim_ascii(), &line.at);
            return;
        }
        self.finish();
        match key_line(text) {
            Some(KeyLine::Bracket { key, name, value }) => {
                let key = self.key(key);
                let name = match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
                    true => Cow::Owned(name.to_ascii_lowercase()),
                    false => Cow::Borrowed(name),
                };
                self.bracket(key, name, value, &line.at);
            }
            Some(KeyLine::Global { key, value }) => {
                let key = self.key(key);
                let value = RawValue { text: value.into(), at: line.at.clone() };
                self.raw.globals.insert(key.clone(), value);
                self.current = Some((key, Current::Global));
            }
            None => {
                self.current = None;
                // A device, and what options have, may be secrets.
                let shown = text.split("=>").next().unwrap_or_default();
                let shown: String = without_communities(shown).chars().take(100).collect();
                let what =
                    format!("`{shown}` is neither `Keyword: value` nor `Keyword[target]: value`");
                self.problems.error(Some(&line.at), what);
            }
        }
    }

    /// A key in lower case, in the spelling that the rules have.
    fn key(&mut self, key: &'t str) -> Cow<'t, str> {
        let lower = self.keys.lower(key);
        // A spelling that MRTG takes too.
        match lower.strip_prefix("supress") {
            Some(rest) => Cow::Owned(format!("suppress{rest}")),
            None => lower,
        }
    }

    fn continuation(&mut self, more: &str, at: &ConfigLine) {
        let Some((key, current)) = self.current.clone() else { return };
        let owner = match &current {
            Current::Global => {
                let what = "a line that begins with a space does not continue a global keyword: \
                            MRTG ignores it, and so does whit";
                self.problems.warning(Some(at), what);
                return;
            }
            Current::Default => entry(&mut self.defaults, key, at),
            Current::Prefix => entry(&mut self.prefixes, key, at),
            Current::Postfix => self.postfixes.entry(key).or_default().to_mut(),
            Current::Target(index) => {
                let target = &mut self.raw.targets[*index];
                let place = target.find(&key).unwrap_or_else(|| {
                    let empty = RawValue { text: Cow::default(), at: at.clone() };
                    target.add(key, empty, Origin::Own)
                });
                target.values[place].value.text.to_mut()
            }
        };
        self.changes += 1;
        if owner.len() + more.len() > VALUE_MAX {
            self.problems.error(Some(at), format!("the value is above {VALUE_MAX} bytes"));
            return;
        }
        owner.push(if matches!(current, Current::Target(_)) { ' ' } else { '\n' });
        owner.push_str(more);
    }

    /// Ends the value of the latest key line: adds the postfix and checks it.
    fn finish(&mut self) {
        let Some((key, current)) = self.current.take() else { return };
        match current {
            Current::Global => self.finished(&key, None),
            Current::Default => {
                if let Some(value) = self.defaults.get(&key) {
                    let done = Finished { key: &key, bracket: Some("_"), value };
                    (self.check)(&done, self.problems);
                }
            }
            Current::Prefix | Current::Postfix => {}
            Current::Target(index) => {
                if let Some(postfix) = self.postfixes.get(&key) {
                    let bare = self.without_mark(postfix);
                    let target = &mut self.raw.targets[index];
                    if let Some(place) = target.find(&key) {
                        let text = target.values[place].value.text.to_mut();
                        if bare.is_none() {
                            text.push(' ');
                        }
                        text.push_str(bare.as_deref().unwrap_or(postfix));
                    }
                }
                self.finished(&key, Some(index));
            }
        }
    }

    fn finished(&mut self, key: &str, target: Option<usize>) {
        let target = target.map(|index| &self.raw.targets[index]);
        let value = match target {
            None => self.raw.globals.get(key),
            Some(target) => target.find(key).map(|at| &target.values[at].value),
        };
        if let Some(value) = value {
            let bracket = target.map(|target| &*target.name);
            (self.check)(&Finished { key, bracket, value }, self.problems);
        }
    }

    /// A text that ends with the character of `NoSpaceChar`, without it; it is then joined without
    /// a space.  Of a text of several lines only the last is left, as in MRTG.
    fn without_mark(&self, text: &str) -> Option<String> {
        let mark = &self.raw.globals.get("nospacechar")?.text;
        let bare = text.strip_suffix(&**mark)?;
        Some(bare.rsplit('\n').next().unwrap_or("").to_owned())
    }

    fn bracket(&mut self, key: Cow<'t, str>, name: Cow<'t, str>, value: &'t str, at: &ConfigLine) {
        let key = if key == "colors" { Cow::Borrowed("colours") } else { key };
        let raw = || RawValue { text: value.into(), at: at.clone() };
        let current = match &*name {
            "_" => {
                self.changes += 1;
                set_or_remove(&mut self.defaults, key.clone(), value, raw);
                Current::Default
            }
            "^" => {
                self.changes += 1;
                set_or_remove(&mut self.prefixes, key.clone(), value, raw);
                Current::Prefix
            }
            "$" => {
                set_or_remove(&mut self.postfixes, key.clone(), value, || value.into());
                Current::Postfix
            }
            _ => match self.target_line(key.clone(), name, value, at) {
                Some(index) => Current::Target(index),
                None => return,
            },
        };
        self.current = Some((key, current));
    }

    /// The number of a target, which is added if its name is new.
    fn target(&mut self, name: Cow<'t, str>, at: &ConfigLine) -> Option<usize> {
        // The lines of a target follow one another in most files.
        if self.raw.targets.get(self.latest).is_some_and(|target| target.name == name) {
            return Some(self.latest);
        }
        self.latest = match self.index.get(&name) {
            Some(&index) => index,
            None if self.raw.targets.len() >= TARGETS_MAX => {
                self.problems.error(Some(at), format!("more than {TARGETS_MAX} targets"));
                return None;
            }
            None => {
                let index = self.raw.targets.len();
                self.index.insert(name.clone(), index);
                let at = Some(at.clone());
                // Most targets have as many values as the one before.
                let count = self.raw.targets.last().map_or(0, |before| before.values.len());
                let (values, tags) = (Vec::with_capacity(count), Vec::with_capacity(count));
                let new = RawTarget { name, at, values, tags, ..RawTarget::default() };
                self.raw.targets.push(new);
                index
            }
        };
        Some(self.latest)
    }

    fn target_line(
        &mut self,
        key: Cow<'t, str>,
        name: Cow<'t, str>,
        value: &'t str,
        at: &ConfigLine,
    ) -> Option<usize> {
        let index = self.target(name, at)?;
        self.inherit(index, at);
        let target = &mut self.raw.targets[index];
        let own = || RawValue { text: value.into(), at: at.clone() };
        let Some(place) = target.find(&key) else {
            target.add(key, own(), Origin::Own);
            return Some(index);
        };
        let held = &mut target.values[place];
        match held.origin {
            Origin::Own => {
                let what = format!("{key}[{}] is already set in {}", target.name, held.value.at);
                self.problems.error(Some(at), what);
                return None;
            }
            Origin::Default => held.value = own(),
            Origin::Prefix => {
                held.value.text.to_mut().push_str(value);
                held.value.at = at.clone();
            }
        }
        held.origin = Origin::Own;
        Some(index)
    }

    /// Gives a target the defaults and prefixes that it does not have yet.
    fn inherit(&mut self, index: usize, at: &ConfigLine) {
        if self.raw.targets[index].inherited == self.changes {
            return;
        }
        self.raw.targets[index].inherited = self.changes;
        for (key, default) in &self.defaults {
            let target = &mut self.raw.targets[index];
            if target.find(key).is_none() {
                target.add(key.clone(), default.clone(), Origin::Default);
            }
        }
        for (key, prefix) in &self.prefixes {
            if self.raw.targets[index].find(key).is_some() {
                continue;
            }
            let text = match self.without_mark(&prefix.text) {
                Some(bare) => bare,
                None => format!("{} ", prefix.text),
            };
            let value = RawValue { text: Cow::Owned(text), at: at.clone() };
            self.raw.targets[index].add(key.clone(), value, Origin::Prefix);
        }
    }
}

fn entry<'t, 'v>(
    values: &'v mut BTreeMap<Cow<'t, str>, RawValue<'t>>,
    key: Cow<'t, str>,
    at: &ConfigLine,
) -> &'v mut String {
    let value = values.entry(key);
    value.or_insert_with(|| RawValue { text: Cow::default(), at: at.clone() }).text.to_mut()
}

fn set_or_remove<'t, V>(
    values: &mut BTreeMap<Cow<'t, str>, V>,
    key: Cow<'t, str>,
    value: &str,
    make: impl FnOnce() -> V,
) {
    if value.is_empty() {
        values.remove(&key);
    } else {
        values.insert(key, make());
    }
}

/// Takes a line apart.  The last `]:` and the last `:` of the first word count, so a name may have
/// brackets and a value must be separated by a space if it has colons.
fn key_line(text: &str) -> Option<KeyLine<'_>> {
    bracket_line(text).or_else(|| {
        let end = text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len());
        let colons = text[..end].rmatch_indices(':').map(|(at, _)| at).filter(|&at| at > 0);
        let values = colons.map(|at| (&text[..at], text[at + 1..].trim_ascii()));
        let (key, value) = values.into_iter().find(|(_, value)| !value.is_empty())?;
        Some(KeyLine::Global { key, value })
    })
}

fn bracket_line(text: &str) -> Option<KeyLine<'_>> {
    let open = text.find('[').filter(|&at| at > 0)?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '*';
    if !text[..open].chars().all(is_key) {
        return None;
    }
    let rest = &text[open + 1..];
    let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
    let mut from = end;
    loop {
        let close = rest[..from].rfind(']').filter(|&at| at > 0)?;
        if let Some(value) = rest[close + 1..].trim_ascii_start().strip_prefix(':') {
            return Some(KeyLine::Bracket {
                key: &text[..open],
                name: &rest[..close],
                value: value.trim_ascii(),
            });
        }
        from = close;
    }
}
