//! A configuration: a file checked against the keys, and where each value came from.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use connection::{Address, AddressRules};
use send::{
    CursorFile, EngineAddress, ProcessChoice, SendError, SendInput, SendSettings, SourceChoice,
};

use crate::key_kinds::{ConfigKey, ValueKind};
use crate::keys::{KEYS, find, is_list};
use crate::places::ServicePlaces;
use crate::toml::{self, Head, Item, Spot};

/// Most bytes of a file: more is none of ours.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A name that ends with `.sock` is a socket in the folder of the service's state.
const ADDRESSES: AddressRules = AddressRules {
    default_port: None,
    is_path: |text| text.starts_with('/') || text.ends_with(".sock"),
    is_host: |_| true,
};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ValueOrigin {
    /// No file says otherwise.
    Default,
    /// A line of the file.
    Line(usize),
    /// The command line.
    Argument,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        error: std::io::Error,
    },
    /// The file is wrong: a line for each error, `FILE:LINE:COLUMN: what is wrong and what to do`.
    #[error("{0}")]
    Wrong(String),
}

/// The values of all keys that have one.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    path: Option<PathBuf>,
    folder: PathBuf,
    values: BTreeMap<String, (Item, ValueOrigin)>,
    /// The tables of lists: their name, which they are, and where they begin.
    rows: BTreeMap<(String, usize), Spot>,
}

impl Configuration {
    /// The defaults, with data in `folder`.
    #[must_use]
    pub fn defaults(folder: &Path) -> Self {
        let value =
            |key: &ConfigKey| Some((key.full_name(), (default_of(key)?, ValueOrigin::Default)));
        let single = KEYS.iter().filter(|key| !is_list(key.table));
        let mut values: BTreeMap<_, _> = single.filter_map(value).collect();
        let shown = Item::Text(folder.display().to_string());
        values.insert("data.folder".to_owned(), (shown, ValueOrigin::Default));
        Configuration { path: None, folder: folder.to_owned(), values, rows: BTreeMap::new() }
    }

    /// The configuration in force: of the file `given`, or of the file that the places name if there is
    /// one, or the defaults.
    ///
    /// # Errors
    /// If the file cannot be read, or with every error that is in it.
    pub fn in_force(
        places: &ServicePlaces,
        given: Option<&Path>,
    ) -> Result<Self, ConfigurationError> {
        let mut configuration = match given {
            None if !places.file.exists() => Self::defaults(&places.data),
            given => Self::read(given.unwrap_or(&places.file), &places.data)?,
        };
        if places.is_asked {
            configuration.set_folder(&places.data);
        }
        configuration.place_sockets(&places.runtime);
        Ok(configuration)
    }

    /// Puts sockets whose paths do not begin with `/` into a folder.
    fn place_sockets(&mut self, folder: &Path) {
        let place = |item: &mut Item| {
            let Item::Text(text) = item else { return };
            if let Some(Address::Unix(path)) = address_of(text) {
                *text = folder.join(path).display().to_string();
            }
        };
        let is_address =
            |key: &&ConfigKey| matches!(key.kind, ValueKind::Address | ValueKind::Addresses);
        for key in KEYS.iter().filter(is_address) {
            match self.values.get_mut(&key.full_name()) {
                Some((Item::List(items), _)) => items.iter_mut().for_each(place),
                Some((item, _)) => place(item),
                None => {}
            }
        }
    }

    /// Reads a file; `folder` is that of data if the file names none.
    ///
    /// # Errors
    /// If it cannot be read, or with every error that is in it.
    pub fn read(path: &Path, folder: &Path) -> Result<Self, ConfigurationError> {
        let unreadable = |error| ConfigurationError::Unreadable { path: path.to_owned(), error };
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        let refused = |text: &str| unreadable(std::io::Error::other(text.to_owned()));
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(refused("it has more than 1 MiB"));
        }
        let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8"))?;
        Self::of(&text, path, folder)
    }

    /// Checks a text.
    fn of(text: &str, path: &Path, folder: &Path) -> Result<Self, ConfigurationError> {
        let document = toml::parse(text);
        let mut faults = document.faults;
        let mut configuration = Self::defaults(folder);
        configuration.path = Some(path.to_owned());
        for head in &document.tables {
            faults.extend(wrong_head(head).map(|text| (head.at, text)));
            if let Some(row) = head.row {
                configuration.rows.insert((head.name.clone(), row), head.at);
            }
        }
        for entry in document.entries {
            let Some(key) = find(&entry.table, &entry.key) else {
                // An unknown table is told once.
                if KEYS.iter().any(|key| key.table == entry.table) || entry.table.is_empty() {
                    faults.push((entry.key_at, unknown(&entry.table, &entry.key)));
                }
                continue;
            };
            match checked(key, &entry.value) {
                Ok(()) => {
                    let value = (entry.value, ValueOrigin::Line(entry.value_at.line));
                    configuration.values.insert(full_name(key, entry.row), value);
                }
                Err(text) => faults.push((entry.value_at, format!("{}: {text}", entry.key))),
            }
        }
        configuration.check_together(&mut faults);
        if let Some(folder) = configuration.text("data.folder") {
            configuration.folder = PathBuf::from(folder);
        }
        if faults.is_empty() {
            return Ok(configuration);
        }
        faults.sort_by_key(|(at, _)| *at);
        let line = |(at, text): &(Spot, String)| {
            format!("{}:{}:{}: {text}", path.display(), at.line, at.column)
        };
        Err(ConfigurationError::Wrong(faults.iter().map(line).collect::<Vec<_>>().join("\n")))
    }

    /// What only several keys together say.
    fn check_together(&self, faults: &mut Vec<(Spot, String)>) {
        let at = |name: &str| match self.values.get(name).map(|(_, origin)| origin) {
            Some(ValueOrigin::Line(line)) => Spot { line: *line, column: 1 },
            _ => Spot { line: 1, column: 1 },
        };
        if !Path::new(self.text("data.folder").unwrap_or("/")).is_absolute() {
            faults.push((at("data.folder"), "folder: give a path that begins with /".to_owned()));
        }
        self.check_rows("host", "url", faults);
        self.check_rows("send", "to", faults);
        self.check_engines(faults);
        for (row, _) in self.rows("host") {
            for key in KEYS.iter().filter(|key| key.table == "host") {
                let name = full_name(key, Some(row));
                if self.text(&name).is_some_and(|text| text.contains(',')) {
                    let text = format!("{}: it has a comma, which no host may have", key.name);
                    faults.push((at(&name), text));
                }
            }
        }
        self.check_alerts(&at, faults);
        for table in ["page", "log.central", "rrdcached"] {
            let (cert, key) = (format!("{table}.tls_cert"), format!("{table}.tls_key"));
            let (has_cert, has_key) =
                (self.values.contains_key(&cert), self.values.contains_key(&key));
            if has_cert != has_key {
                let given = if has_cert { cert } else { key };
                let text = "tls_cert and tls_key belong together: give both".to_owned();
                faults.push((at(&given), text));
            }
        }
        if self.is_on("history.enabled") && !self.values.contains_key("history.table") {
            let text = "enabled: a history needs a table: give [history] table".to_owned();
            faults.push((at("history.enabled"), text));
        }
        for name in ["record.folder", "history.table"] {
            let is_cut =
                self.path_of(name).is_some_and(|path| path.to_string_lossy().contains(','));
            if is_cut && self.is_on("history.enabled") {
                let text =
                    "a path with a comma cannot have a history: set enabled = false of [history]";
                faults.push((at(name), text.to_owned()));
            }
        }
        let is_encrypted = self.page_address().is_some_and(|address| address.is_encrypted());
        if is_encrypted != self.values.contains_key("page.tls_cert") && self.is_on("page.enabled") {
            let text =
                "listen: an address with tls: and tls_cert belong together: give both or none";
            let named = match self.values.get("page.listen") {
                Some((_, ValueOrigin::Line(_))) => "page.listen",
                _ => "page.tls_cert",
            };
            faults.push((at(named), text.to_owned()));
        }
    }

    /// Asks each table of a list that has keys at all for the one that it needs, its first.
    fn check_rows(&self, table: &str, needed: &str, faults: &mut Vec<(Spot, String)>) {
        for (row, at_row) in self.rows(table) {
            let is_given = |key: &&ConfigKey| self.item(&full_name(key, Some(row))).is_some();
            let mut given = KEYS.iter().filter(|key| key.table == table).filter(is_given);
            if given.next().is_some_and(|first| first.name != needed) {
                faults.push((at_row, format!("{needed}: there is none: [[{table}]] needs one")));
            }
        }
    }

    /// The engines that get what is recorded: what each table says is one, and no two have a name.
    fn check_engines(&self, faults: &mut Vec<(Spot, String)>) {
        let mut names = Vec::new();
        for (row, at_row) in self.rows("send") {
            let name = match self.engine_name(row) {
                Ok(Some(name)) => name,
                Ok(None) => continue,
                Err(error) => {
                    faults.push((at_row, error.to_string()));
                    continue;
                }
            };
            if names.contains(&name) {
                faults.push((at_row, format!("name: another [[send]] is called {name}, too")));
            }
            names.push(name);
            let has = |key: &str| self.item(&format!("send.{row}.{key}")).is_some();
            let address = self.text(&format!("send.{row}.to")).map(EngineAddress::parse);
            if let Some(Ok(address)) = address {
                if self.is_on(&format!("send.{row}.create_tables")) && !address.has_tables() {
                    faults.push((at_row, "create_tables: clickhouse has some".to_owned()));
                }
                if has("sources") || has("processes_by") || has("step") {
                    let chosen = address.check_choice().err();
                    faults.extend(chosen.map(|error| (at_row, error.to_string())));
                }
            }
            if self.engine_input(row) == SendInput::Logs && (has("processes_by") || has("step")) {
                faults.push((at_row, "processes_by, step: log records have none".to_owned()));
            }
            if has("spread") && !has("step") {
                faults.push((at_row, "spread: it is of a step: there is none".to_owned()));
            }
            let every = self.text(&format!("send.{row}.every")).map(text::quantity::parse_span);
            if let Some(Ok(every)) = every {
                let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
                let wrong = SendSettings::every(Some(every_ns)).err();
                faults.extend(wrong.map(|error| (at_row, format!("every: {error}"))));
            }
            let by = self.text(&format!("send.{row}.processes_by"));
            let wrong = by.and_then(|by| ProcessChoice::parse(by).err());
            faults.extend(wrong.map(|error| (at_row, error.to_string())));
            if let Some(Item::List(words)) = self.item(&format!("send.{row}.sources")) {
                if self.engine_input(row) == SendInput::Logs {
                    faults.push((at_row, "sources: log records have none".to_owned()));
                }
                let text = |item: &Item| match item {
                    Item::Text(text) => Some(text.clone()),
                    _ => None,
                };
                let wrong = SourceChoice::new(words.iter().filter_map(text).collect()).err();
                faults.extend(wrong.map(|error| (at_row, format!("sources: {error}"))));
            }
        }
    }

    /// What an engine gets.
    pub(crate) fn engine_input(&self, row: usize) -> SendInput {
        let address = self.text(&format!("send.{row}.to")).map(EngineAddress::parse);
        let is_for_logs = matches!(address, Some(Ok(address)) if address.is_for_logs_alone());
        match is_for_logs || self.is_on(&format!("send.{row}.logs")) {
            true => SendInput::Logs,
            false => SendInput::Samples,
        }
    }

    /// The name of an engine that gets what is recorded; `None` of a table without keys.
    pub(crate) fn engine_name(&self, row: usize) -> Result<Option<String>, SendError> {
        let Some(to) = self.text(&format!("send.{row}.to")) else { return Ok(None) };
        let (address, input) = (EngineAddress::parse(to)?, self.engine_input(row));
        address.check(input)?;
        let name = self.text(&format!("send.{row}.name")).map(str::to_owned);
        let name = name.unwrap_or_else(|| address.cursor_name(input));
        CursorFile::check_name(&name)?;
        Ok(Some(name))
    }

    /// Sets a value that the command line gives.
    fn set_folder(&mut self, folder: &Path) {
        self.folder = folder.to_owned();
        let shown = Item::Text(folder.display().to_string());
        self.values.insert("data.folder".to_owned(), (shown, ValueOrigin::Argument));
    }

    /// The file; `None` for the defaults.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The folder of all data.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The tables of a list, by their number: the names of their keys begin with `TABLE.NUMBER.`.
    pub(crate) fn rows(&self, table: &str) -> impl Iterator<Item = (usize, Spot)> {
        let rows = self.rows.iter().filter(move |((name, _), _)| name == table);
        rows.map(|((_, row), at)| (*row, *at))
    }

    pub(crate) fn item(&self, name: &str) -> Option<&Item> {
        self.values.get(name).map(|(item, _)| item)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.item(name)? {
            Item::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The texts of a list, if there is one.
    pub(crate) fn texts(&self, name: &str) -> Option<Vec<&str>> {
        let Item::List(items) = self.item(name)? else { return None };
        let texts = items.iter().filter_map(|item| match item {
            Item::Text(text) => Some(text.as_str()),
            _ => None,
        });
        Some(texts.collect())
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.item(name) == Some(&Item::Switch(true))
    }

    /// The path of a key, below the folder of data if it does not begin with `/`.
    #[must_use]
    pub fn path_of(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(|text| self.folder.join(text))
    }

    /// Bytes that stay free on the disk of the folder.
    #[must_use]
    pub fn free_min(&self) -> u64 {
        let text = self.text("data.free_min").unwrap_or_default();
        text::quantity::parse_size(text).unwrap_or(0)
    }

    /// The address of the page.
    #[must_use]
    pub fn page_address(&self) -> Option<Address> {
        self.address("page.listen").filter(|_| self.is_on("page.enabled"))
    }

    pub(crate) fn address(&self, name: &str) -> Option<Address> {
        address_of(self.text(name)?)
    }

    /// The whole configuration as a file, each value with where it came from.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut tables: Vec<&str> = KEYS.iter().map(|key| key.table).collect();
        tables.dedup();
        self.shown_tables(&tables)
    }

    /// Some tables as a file.
    pub(crate) fn shown_tables(&self, tables: &[&str]) -> String {
        let mut text = String::new();
        for table in tables {
            if !is_list(table) {
                self.show_table(&mut text, table, None);
            }
            for (row, _) in self.rows(table) {
                self.show_table(&mut text, table, Some(row));
            }
        }
        text
    }

    fn show_table(&self, text: &mut String, table: &str, row: Option<usize>) {
        let gap = if text.is_empty() { "" } else { "\n" };
        // Writing to a string cannot fail.
        let _ = match row {
            None => writeln!(text, "{gap}[{table}]"),
            Some(_) => writeln!(text, "{gap}[[{table}]]"),
        };
        for key in KEYS.iter().filter(|key| key.table == table) {
            let Some((item, origin)) = self.values.get(&full_name(key, row)) else {
                let _ = writeln!(text, "#{} =", key.name);
                continue;
            };
            let from = match (origin, &self.path) {
                (ValueOrigin::Line(line), Some(path)) => format!("{}:{line}", path.display()),
                (ValueOrigin::Argument, _) => "option".to_owned(),
                _ => "default".to_owned(),
            };
            let assigned = format!("{} = {}", key.name, written(item));
            let _ = writeln!(text, "{assigned:<40} # {from}");
        }
    }
}

/// The address that a text of a configuration is.
pub(crate) fn address_of(text: &str) -> Option<Address> {
    Address::parse(text, &ADDRESSES).ok()
}

/// The name of a value: `TABLE.NAME`, or `TABLE.NUMBER.NAME` in a table of a list.
pub(crate) fn full_name(key: &ConfigKey, row: Option<usize>) -> String {
    match row {
        None => key.full_name(),
        Some(row) => format!("{}.{row}.{}", key.table, key.name),
    }
}

/// Says what is wrong with the head of a table.
fn wrong_head(head: &Head) -> Option<String> {
    let table = head.name.as_str();
    let is_below = |key: &ConfigKey| {
        key.table.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if !KEYS.iter().any(is_below) {
        let near = nearest(table, KEYS.iter().map(|key| key.table));
        return Some(format!("there is no table [{table}]{near}"));
    }
    match (is_list(table), head.row) {
        (true, None) => Some(format!("there may be several: write [[{table}]]")),
        (false, Some(_)) => Some(format!("there is one of it: write [{table}]")),
        _ => None,
    }
}

/// A value as it stands in a file.
fn written(item: &Item) -> String {
    match item {
        Item::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Item::Whole(number) => number.to_string(),
        Item::Number(number) => number.to_string(),
        Item::Switch(is_on) => is_on.to_string(),
        Item::List(items) => {
            format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "))
        }
    }
}

fn default_of(key: &ConfigKey) -> Option<Item> {
    let document = toml::parse(&format!("x = {}", key.default?));
    document.entries.into_iter().next().map(|entry| entry.value)
}

fn unknown(table: &str, name: &str) -> String {
    if table.is_empty() {
        let tables: Vec<_> =
            KEYS.iter().filter(|key| key.name == name).map(|key| key.table).collect();
        return match tables.as_slice() {
            [] => format!("{name} stands in no table: write [TABLE] above it"),
            tables => {
                format!("{name} stands in no table: it belongs below [{}]", tables.join("] or ["))
            }
        };
    }
    let elsewhere = KEYS.iter().find(|key| key.name == name && key.table != table);
    let near = nearest(name, KEYS.iter().filter(|key| key.table == table).map(|key| key.name));
    match elsewhere {
        Some(key) if near.is_empty() => {
            format!("[{table}] has no key {name}: it belongs below [{}]", key.table)
        }
        _ => format!("[{table}] has no key {name}{near}"),
    }
}

/// What was meant: the known name that takes the fewest changed letters, if these are few.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    // However long the word is.
    let name: String = name.chars().take(64).collect();
    let best = known.map(|one| (strsim::levenshtein(&name, one), one)).min();
    match best {
        Some((changes, one)) if changes <= one.len() / 2 => format!(": did you mean {one}?"),
        _ => String::new(),
    }
}

/// Says what is wrong with a value.
fn checked(key: &ConfigKey, item: &Item) -> Result<(), String> {
    let all = |items: &[Item], of: &dyn Fn(&str) -> Result<(), String>| {
        let text = |item: &Item| match item {
            Item::Text(text) if !text.is_empty() => of(text),
            _ => Err("the list has texts alone: [\"…\", \"…\"]".to_owned()),
        };
        items.iter().try_for_each(text)
    };
    let address = |text: &str| {
        Address::parse(text, &ADDRESSES).map(drop).map_err(|error| format!("\"{text}\": {error}"))
    };
    match (key.kind, item) {
        (ValueKind::Switch, Item::Switch(_)) => Ok(()),
        (ValueKind::Switch, _) => Err("write true or false".to_owned()),
        (ValueKind::Percent, Item::Whole(1..=100)) => Ok(()),
        (ValueKind::Percent, Item::Number(share)) if *share > 0.0 && *share <= 100.0 => Ok(()),
        (ValueKind::Percent, _) => Err("give per cent, more than 0 and at most 100".to_owned()),
        (ValueKind::Paths | ValueKind::Words, Item::List(items)) => all(items, &|_| Ok(())),
        (ValueKind::Addresses, Item::List(items)) => all(items, &address),
        (ValueKind::Receivers, Item::List(items)) => {
            all(items, &|text| alert::AlertReceiver::parse(text).map(drop))
        }
        (ValueKind::Silences, Item::List(items)) => {
            all(items, &|text| alert::SilenceTime::parse(text).map(drop))
        }
        (
            ValueKind::Paths
            | ValueKind::Words
            | ValueKind::Addresses
            | ValueKind::Receivers
            | ValueKind::Silences,
            _,
        ) => Err("write a list: [\"…\", \"…\"]".to_owned()),
        (_, Item::Text(text)) if text.is_empty() || text.contains('\0') => {
            Err("give a text that is not empty, or leave the key out".to_owned())
        }
        (kind, Item::Text(text)) => of_text(kind, text),
        (_, Item::Whole(number)) => Err(format!("write it as text: \"{number}\"")),
        (_, Item::Number(number)) => Err(format!("write it as text: \"{number}\"")),
        _ => Err("write one text: \"…\"".to_owned()),
    }
}

fn of_text(kind: ValueKind, text: &str) -> Result<(), String> {
    match kind {
        ValueKind::Size => {
            text::quantity::parse_size(text).map(drop).map_err(|error| error.to_string())
        }
        ValueKind::Span => match text::quantity::parse_span(text) {
            Ok(span) if span.subsec_nanos() == 0 => Ok(()),
            Ok(_) => Err("give whole seconds: 1s".to_owned()),
            Err(error) => Err(error.to_string()),
        },
        ValueKind::Interval => recorder::parse_intervals(text, "1", (true, true), false)
            .map(drop)
            .map_err(|error| error.to_string()),
        ValueKind::Keep => recorder::Keep::parse(text).map(drop).map_err(|error| error.to_string()),
        ValueKind::Address => {
            Address::parse(text, &ADDRESSES).map(drop).map_err(|error| error.to_string())
        }
        ValueKind::Condition => alert::AlertRule::new("", text).map(drop),
        ValueKind::Choice(words) if !words.contains(&text) => {
            Err(format!("\"{text}\" is none of {}", words.join(", ")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::default_file;

    fn of(text: &str) -> Result<Configuration, Vec<String>> {
        Configuration::of(text, Path::new("/w.toml"), Path::new("/d"))
            .map_err(|error| error.to_string().lines().map(str::to_owned).collect())
    }

    #[test]
    fn the_installed_file_is_the_defaults_with_and_without_its_comment_signs() {
        let defaults = Configuration::defaults(Path::new("/d"));
        assert_eq!(of(&default_file()).unwrap().values, defaults.values);
        let is_key = |line: &&str| line.starts_with('#') && !line.starts_with("# ");
        let has_value = |line: &&str| !line.ends_with('=');
        let plain = default_file();
        let plain = plain.lines().map(|line| match is_key(&line) && has_value(&line) {
            true => &line[1..],
            false => line,
        });
        let read = of(&plain.collect::<Vec<_>>().join("\n")).unwrap();
        for (name, (item, origin)) in &read.values {
            assert_eq!(Some(item), defaults.item(name), "{name}");
            assert!(name == "data.folder" || matches!(origin, ValueOrigin::Line(_)), "{name}");
        }
    }

    #[test]
    fn every_error_is_told_at_once_with_its_place_and_what_was_meant() {
        let text = "listen = \"x\"\n[recrod]\ninterval = 1\n[record]\nintreval = \"1\"\nenabled = 1\n\
                    interval = \"x\"\nkeep = \"10Q\"\nlisten = \"1\"\n[page]\nlisten = \"nowhere\"\n\
                    tls_cert = \"/c\"\n[rrdcached]\nack = \"maybe\"\nlisten = \"/a\"\nzzzzzzzz = 1\n";
        let said = of(text).unwrap_err();
        let wanted = [
            "/w.toml:1:1: listen stands in no table: it belongs below [page] or [log.central] or \
             [rrdcached]",
            "/w.toml:2:1: there is no table [recrod]: did you mean record?",
            "/w.toml:5:1: [record] has no key intreval: did you mean interval?",
            "/w.toml:6:11: enabled: write true or false",
            "/w.toml:7:12: interval: ",
            "/w.toml:8:8: keep: '10Q' is neither",
            "/w.toml:9:1: [record] has no key listen: it belongs below [page]",
            "/w.toml:11:10: listen: ",
            "/w.toml:12:1: tls_cert and tls_key belong together",
            "/w.toml:12:1: listen: an address with tls: and tls_cert belong together",
            "/w.toml:14:7: ack: \"maybe\" is none of none, os, disk",
            "/w.toml:15:10: listen: write a list",
            "/w.toml:16:1: [rrdcached] has no key zzzzzzzz",
        ];
        assert_eq!(said.len(), wanted.len(), "{said:#?}");
        for (said, wanted) in said.iter().zip(wanted) {
            assert!(said.starts_with(wanted), "{said}\n{wanted}");
        }
    }

    #[test]
    fn sockets_without_a_folder_are_in_that_of_the_state() {
        let folder = tempfile::tempdir().unwrap();
        let mut places = ServicePlaces::of(false, &|_| None, Some(folder.path()));
        places.file = folder.path().join("whit.toml");
        let text = "[log.central]\nlisten = [\"unix:a.sock\", \"/b.sock\", \"h:1\"]\n";
        std::fs::write(&places.file, text).unwrap();
        let read = Configuration::in_force(&places, None).unwrap();
        let below = |name: &str| folder.path().join("run").join(name).display().to_string();
        let (own, all) = (below("a.sock"), read.texts("log.central.listen").unwrap());
        assert_eq!(all, [own.as_str(), "/b.sock", "h:1"]);
        assert_eq!(read.texts("rrdcached.listen").unwrap(), [below("rrdcached.sock")]);
        assert_eq!(read.text("log.proxy.central"), Some(below("log.sock").as_str()));
        assert_eq!(
            read.text("page.listen"),
            Configuration::defaults(&places.data).text("page.listen")
        );
        assert!(Configuration::in_force(&places, None).unwrap().shown().contains(&own));
    }

    #[test]
    fn values_show_where_they_came_from() {
        let mut read = of("[record]\n\ninterval = \"10\" # slow\n").unwrap();
        assert!(read.shown().contains("interval = \"10\" "), "{}", read.shown());
        assert!(read.shown().lines().any(|line| line.ends_with(" # /w.toml:3")));
        read.set_folder(Path::new("/e"));
        assert!(read.shown().contains("folder = \"/e\" "), "{}", read.shown());
        assert_eq!(read.path_of("record.folder").unwrap(), Path::new("/e/recordings"));
        // What is shown is a configuration again.
        assert_eq!(
            of(&read.shown()).unwrap().path_of("record.folder"),
            read.path_of("record.folder")
        );
    }
}
