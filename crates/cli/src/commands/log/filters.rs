//! Options that several parts of `whit log` share: which records, in which form.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use layout::text::CsvFormulas;
use log_format::{FormatOptions, LogZone, RecordFormat, TextFormat};
use log_store::StoreReader;
use log_store::query::Filter;
use logring::LogLevel;
use logring::folder::{self, FolderRule};
use watch::DataKind;

use crate::commands::watch::data_of_service;

/// Which records.
#[derive(clap::Args, Clone)]
pub(crate) struct FilterArguments {
    /// Records of this level and above: TRACE, DELOUSE, DEBUG, INFO, NOTICE, WARNING, ERROR, ...
    #[arg(short = 'l', long, value_name = "LEVEL", value_parser = level)]
    level: Option<LogLevel>,
    /// Records of these loggers; `*` stands for any text
    #[arg(short = 'g', long, value_name = "NAME", default_value = "", hide_default_value = true)]
    logger: String,
    /// Records of these hosts; `*` stands for any text
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    host: String,
    /// Records of these processes, by name (`*` stands for any text) or number
    #[arg(short = 'p', long, value_name = "NAME", default_value = "", hide_default_value = true)]
    process: String,
    /// Records from this time on: 10:15, yesterday 10:15, -1h, 2026-11-22T20:00 with Z, +01:00 or
    /// neither, @SECONDS since 1970
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// Records before this time
    #[arg(long, visible_alias = "thru", value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// Records with this name and value in their context or their own data, such as Antenna=DV01 or
    /// Audience=Operator; `*` in the value stands for any text (may be repeated: all of them)
    #[arg(short = 'k', long, value_name = "NAME=VALUE", value_parser = pair)]
    pair: Vec<(String, String)>,
    /// Records whose message contains this text
    #[arg(short = 't', long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    text: String,
    /// Records whose message has this word, in small or large letters (may be repeated: all of them)
    #[arg(short = 'w', long, value_name = "WORD", value_parser = log_store::query::word)]
    word: Vec<String>,
    /// Records whose message fits this regular expression
    #[arg(short = 'e', long, value_name = "REGEX")]
    regex: Option<String>,
    /// Also show records about clocks, and threads that begin and end
    #[arg(short = 'a', long)]
    all: bool,
}

/// In which form records are shown.
#[derive(clap::Args, Clone)]
pub(crate) struct FormatArguments {
    /// The form: lines of text, JSON or CSV, ACS's XML, or syslog messages (RFC 5424)
    #[arg(short = 'f', long, value_name = "FORM", default_value = "text",
        value_parser = ["text", "json", "csv", "acs", "syslog"])]
    format: String,
    /// As --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// As --format csv
    #[arg(long, conflicts_with_all = ["format", "json"])]
    csv: bool,
    /// Colours of levels in text: on a terminal, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto",
        value_parser = ["auto", "always", "never"])]
    color: String,
    /// In CSV, put an apostrophe before what a spreadsheet would take as a formula: text that begins
    /// with =, +, -, @, a tab or a carriage return
    #[arg(long)]
    quote_formulas: bool,
    #[command(flatten)]
    zone: ZoneArguments,
}

/// In which zone times are shown.
#[derive(clap::Args, Clone)]
pub(crate) struct ZoneArguments {
    /// Times of text in UTC, not in the local zone
    #[arg(short = 'u', long)]
    utc: bool,
}

impl ZoneArguments {
    pub(crate) fn zone(&self) -> LogZone {
        if self.utc { LogZone::default() } else { local_zone() }
    }
}

/// Reads a level, by name or number.
pub(crate) fn level(text: &str) -> Result<LogLevel, String> {
    LogLevel::parse(text).ok_or_else(|| {
        let names: Vec<&str> = LogLevel::ALL.iter().map(|level| level.name()).collect();
        format!("give one of {}", names.join(", "))
    })
}

fn pair(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or("give NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl FilterArguments {
    pub(crate) fn filter(&self) -> anyhow::Result<Filter> {
        let time = |option: &str, text: &Option<String>| {
            let time_ns = text.as_deref().map(|text| crate::zone::time_ns(option, text));
            anyhow::Ok(time_ns.transpose()?.map(|time_ns| time_ns.max(0).cast_unsigned()))
        };
        let (from_ns, until_ns) = (time("--from", &self.from)?, time("--until", &self.until)?);
        let is_backwards = from_ns.zip(until_ns).is_some_and(|(from, until)| from > until);
        anyhow::ensure!(!is_backwards, "--from is after --until");
        let regex = self.regex.as_deref().map(regex::bytes::Regex::new);
        Ok(Filter {
            level: self.level,
            logger: self.logger.clone(),
            host: self.host.clone(),
            process: self.process.clone(),
            from_ns,
            until_ns,
            pairs: self.pair.clone(),
            text: self.text.clone().into(),
            regex: regex.transpose().context("--regex")?,
            words: self.word.clone(),
            all_kinds: self.all,
        })
    }
}

impl FormatArguments {
    /// The form, for an output that is a terminal or not.
    pub(crate) fn format(&self, is_terminal: bool) -> Box<dyn RecordFormat> {
        let has_colors = match self.color.as_str() {
            "always" => true,
            "never" => false,
            _ => is_terminal && !crate::display::is_without_colors(),
        };
        let zone = self.zone.zone();
        let formulas = match self.quote_formulas {
            true => CsvFormulas::Quote,
            false => CsvFormulas::Keep,
        };
        let name = match (self.json, self.csv) {
            (true, _) => "json",
            (_, true) => "csv",
            _ => &self.format,
        };
        log_format::format_named(name, FormatOptions { has_colors, zone, formulas })
            .unwrap_or_else(|| Box::new(TextFormat::new(has_colors, zone)))
    }
}

/// How far local time is from UTC, now.
fn local_zone() -> LogZone {
    let now = jiff::Timestamp::now();
    LogZone { offset_seconds: crate::zone::local().to_offset(now).seconds() }
}

/// Where rings are: the folders that were given, else those where programs of this user log.  What is
/// not safe is said; of the latter it is left out.
pub(crate) fn ring_folders(given: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let rule = FolderRule::of_reader();
    let named: Vec<PathBuf> = rule.named.iter().cloned().collect();
    let given = if given.is_empty() { &named[..] } else { given };
    if !given.is_empty() {
        given.iter().filter_map(|path| folder::check_given(path)).for_each(crate::stderr::message);
        return Ok(given.to_vec());
    }
    let (found, refused) = rule.readable();
    refused.iter().for_each(crate::stderr::message);
    anyhow::ensure!(!found.is_empty(), "no folder of rings is left: name one");
    Ok(found)
}

/// Where the store is, unless told otherwise.
pub(crate) const DEFAULT_STORE: &str = "/var/lib/whit/log";

/// The store that is given, else that of the service.
pub(super) fn store(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let is_engine = |path: &Path| path.to_str().is_some_and(send::is_log_engine);
    match given {
        Some(path) if is_engine(path) => {
            anyhow::bail!("{}: query reads engines, and nothing else does", path.display())
        }
        Some(path) => Ok(path.to_owned()),
        None => data_of_service(DataKind::Log),
    }
}

/// The same, opened for a filter.
pub(super) fn open_store(given: Option<&Path>, filter: &Filter) -> anyhow::Result<StoreReader> {
    let store = store(given)?;
    anyhow::ensure!(log_store::may_be_store(&store), "{}", unreadable(&store));
    let mut reader = StoreReader::open(&store).with_context(|| unreadable(&store))?;
    reader.look_up(filter.keys());
    Ok(reader)
}

/// What is said of a store that cannot be read.
pub(super) fn unreadable(store: &Path) -> String {
    let path = store.display();
    match log_store::may_be_store(store) {
        true => format!("cannot read {path}"),
        false => format!(
            "no store is at {path}: name its folder; tail, query and stats ask a central server \
             instead, by --central ADDRESS"
        ),
    }
}
