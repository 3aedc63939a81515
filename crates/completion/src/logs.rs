//! Loggers, hosts and processes of a store of log records, and levels.

use std::path::Path;

use log_format::write_message;
use log_store::archive::{LogArchive, LogOrder, LogPage, LogSearch};
use log_store::query::Filter;
use log_store::words;
use logring::LogLevel;

use crate::NameSources;
use crate::argument::CompletedArgument;

/// Records whose words are told, and bytes of their messages.
const RECORDS_MAX: usize = 1000;
const MESSAGES_BYTES_MAX: usize = 1 << 20;

/// The values of an option of a verb below `log`.
pub(crate) fn of(id: &str, asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Vec<String> {
    match id {
        "level" => LogLevel::ALL.iter().map(|level| level.name().to_owned()).collect(),
        "logger" | "host" | "process" => names(id, asked, places),
        "text" | "word" => words(asked, places),
        _ => Vec::new(),
    }
}

/// The store that a line names, else that of the service.
fn archive(asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Option<LogArchive> {
    let given = asked.positionals.first().map(Path::new);
    given.or(places.log_store.as_deref()).map(LogArchive::new)
}

/// Words of the newest messages, once a letter is typed: all of them are no help.
fn words(asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Vec<String> {
    let Some(archive) = archive(asked, places).filter(|_| !asked.value.is_empty()) else {
        return Vec::new();
    };
    let order = LogOrder::NewestFirst;
    let page = LogPage { order, limit: RECORDS_MAX, bytes_max: MESSAGES_BYTES_MAX, behind: None };
    let search = LogSearch { filter: Filter::default(), words: Vec::new() };
    let found = archive.records(&search, page, &|| places.has_ended(), &mut |_, record| {
        let mut message = Vec::new();
        write_message(&mut message, record);
        message
    });
    let messages = found.map(|found| found.records).unwrap_or_default();
    let words = messages.iter().flat_map(|message| words::words(&message.text));
    words.filter_map(|word| std::str::from_utf8(word).ok().map(str::to_owned)).collect()
}

fn names(id: &str, asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Vec<String> {
    let Some(archive) = archive(asked, places) else { return Vec::new() };
    let Ok(names) = archive.names(&Filter::default(), &|| places.has_ended()) else {
        return Vec::new();
    };
    match id {
        "logger" => names.loggers.into_iter().collect(),
        "host" => names.hosts.into_keys().collect(),
        _ => names.processes.into_keys().collect(),
    }
}
