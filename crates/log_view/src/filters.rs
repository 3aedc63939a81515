//! Which records are shown, and such filters kept by name in a file of the user's.
//!
//! The file has a section for each filter, `[name]`, and a line `what = value` for each part of it that
//! is not empty: `level`, `logger`, `host`, `process`, `text`, `word` and `pair` (several).  A period is not kept.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use log_store::archive::plain_pattern;
use log_store::query::{Filter, WantedText};
use logring::LogLevel;
use regex::bytes::{Regex, RegexBuilder};

use crate::error::ViewError;

/// Most bytes of the file, and most filters.
const FILE_BYTES_MAX: u64 = 256 << 10;
const FILTERS_MAX: usize = 500;
/// Longest regular expression, compiled.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// The user's file of filters, by what the environment says.
#[must_use]
pub fn kept_filters(environment: &dyn Fn(&str) -> Option<OsString>) -> PathBuf {
    terminal::user_file(environment, "log-view.filters")
}

/// Which records are shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShownRecords {
    pub(crate) filter: Filter,
    /// The text that was asked for, as it was typed: `filter.regex` is made of it.
    pub(crate) typed: String,
}

/// The expression of a typed text: of `/REGEX/` that, else the text itself in small or large letters.
pub(crate) fn typed_regex(typed: &str) -> Result<Regex, String> {
    let inner = typed.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    let pattern = match inner {
        Some(inner) if !inner.is_empty() => inner.to_owned(),
        _ => plain_pattern(typed),
    };
    let mut builder = RegexBuilder::new(&pattern);
    let built = builder.size_limit(REGEX_BYTES_MAX).build();
    // The error of a regular expression has several lines.
    built.map_err(|error| {
        let text = error.to_string();
        text.lines().last().unwrap_or_default().trim().to_owned()
    })
}

impl ShownRecords {
    /// Shows those whose message has a text; all, if it is empty.
    pub(crate) fn set_text(&mut self, typed: &str) -> Result<(), String> {
        self.filter.regex = if typed.is_empty() { None } else { Some(typed_regex(typed)?) };
        self.filter.text = WantedText::default();
        typed.clone_into(&mut self.typed);
        Ok(())
    }

    /// What of it is set, in words.
    pub(crate) fn words(&self) -> String {
        let mut words: Vec<String> =
            self.lines().into_iter().map(|(what, value)| format!("{what} {value}")).collect();
        if self.typed.is_empty()
            && let Some(regex) = &self.filter.regex
        {
            words.push(format!("regex {regex}"));
        }
        if !self.filter.text.is_empty() {
            words.push(format!("text {}", self.filter.text.as_str()));
        }
        if self.filter.from_ns.is_some() || self.filter.until_ns.is_some() {
            words.push("a period".to_owned());
        }
        words.join(", ")
    }

    /// What is kept of it.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let filter = &self.filter;
        let mut lines = vec![
            ("level", filter.level.map_or(String::new(), |level| level.name().to_owned())),
            ("logger", filter.logger.clone()),
            ("host", filter.host.clone()),
            ("process", filter.process.clone()),
            ("text", self.typed.clone()),
        ];
        lines.extend(filter.pairs.iter().map(|(name, value)| ("pair", format!("{name}={value}"))));
        lines.extend(filter.words.iter().map(|word| ("word", word.clone())));
        lines.retain(|(_, value)| !value.is_empty());
        lines
    }

    fn set(&mut self, what: &str, value: &str) -> Result<(), String> {
        match what {
            "level" => {
                let level = LogLevel::parse(value).ok_or(format!("{value} is no level"))?;
                self.filter.level = Some(level);
            }
            "logger" => value.clone_into(&mut self.filter.logger),
            "host" => value.clone_into(&mut self.filter.host),
            "process" => value.clone_into(&mut self.filter.process),
            "text" => self.set_text(value)?,
            "word" => self.filter.words.push(log_store::query::word(value)?),
            "pair" => {
                let (name, value) = value.split_once('=').ok_or("a pair is NAME=VALUE")?;
                self.filter.pairs.push((name.to_owned(), value.to_owned()));
            }
            _ => {
                return Err(format!(
                    "{what} is none of level, logger, host, process, text, word and pair"
                ));
            }
        }
        Ok(())
    }
}

/// Filters by name, in their order in the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedFilters {
    path: PathBuf,
    pub(crate) filters: Vec<(String, ShownRecords)>,
}

impl NamedFilters {
    /// The filters of a file, which need not be there.
    pub(crate) fn read(path: &Path) -> Result<Self, ViewError> {
        let failed = |source| ViewError::Io { path: path.to_owned(), source };
        let mut text = String::new();
        match std::fs::File::open(path) {
            Ok(file) => drop(file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let mut named = NamedFilters { path: path.to_owned(), filters: Vec::new() };
        for (number, line) in text.lines().enumerate() {
            named.read_line(line.trim()).map_err(|why| ViewError::Filters {
                path: path.to_owned(),
                line: number + 1,
                why,
            })?;
        }
        Ok(named)
    }

    fn read_line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            if self.filters.len() >= FILTERS_MAX {
                return Err(format!("there are more than {FILTERS_MAX} filters"));
            }
            self.filters.push((name.to_owned(), ShownRecords::default()));
            return Ok(());
        }
        let (what, value) = line.split_once('=').ok_or("neither [NAME] nor WHAT = VALUE")?;
        let (_, last) = self.filters.last_mut().ok_or("it stands before the first [NAME]")?;
        last.set(what.trim(), value.trim())
    }

    /// The filter of a name.
    pub(crate) fn named(&self, name: &str) -> Result<ShownRecords, ViewError> {
        let found = self.filters.iter().find(|(one, _)| one == name);
        found.map(|(_, shown)| shown.clone()).ok_or_else(|| {
            let known: Vec<&str> = self.filters.iter().map(|(one, _)| one.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            ViewError::NoFilter { name: name.to_owned(), path: self.path.clone(), known }
        })
    }

    /// Keeps a filter under a name, in the place of an older one.
    pub(crate) fn keep(&mut self, name: &str, shown: &ShownRecords) -> Result<(), String> {
        if name.is_empty() || name.contains([']', '[', '\n']) {
            return Err("a name has at least one letter and no bracket".to_owned());
        }
        let lines = shown.lines();
        if lines.iter().any(|(_, value)| value.contains('\n') || value.trim() != value) {
            return Err(
                "a filter with a line end, or with blanks at an end, is not kept".to_owned()
            );
        }
        let is_untyped = shown.typed.is_empty() && shown.filter.regex.is_some();
        if is_untyped || !shown.filter.text.is_empty() {
            return Err("a text that was given by an option is not kept: type it (t)".to_owned());
        }
        let mut kept = self.clone();
        let shown = ShownRecords {
            filter: Filter { from_ns: None, until_ns: None, ..shown.filter.clone() },
            typed: shown.typed.clone(),
        };
        kept.filters.retain(|(one, _)| one != name);
        kept.filters.push((name.to_owned(), shown));
        kept.write()?;
        *self = kept;
        Ok(())
    }

    /// Forgets the filter of a number.
    pub(crate) fn forget(&mut self, number: usize) -> Result<String, String> {
        if number >= self.filters.len() {
            return Err("there is no filter".to_owned());
        }
        let mut kept = self.clone();
        let (name, _) = kept.filters.remove(number);
        kept.write()?;
        *self = kept;
        Ok(name)
    }

    /// Writes all into a new file, which takes the place of the old one at once.
    fn write(&self) -> Result<(), String> {
        let mut text = "# Filters of whit log view.\n".to_owned();
        for (name, shown) in &self.filters {
            text.push_str(&format!("\n[{name}]\n"));
            for (what, value) in shown.lines() {
                text.push_str(&format!("{what} = {value}\n"));
            }
        }
        terminal::write_kept(&self.path, &text)
            .map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }
}
