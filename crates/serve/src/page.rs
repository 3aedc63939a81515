//! The page and its interface: recorded hosts, charts, moments and comparisons as JSON.
//!
//! Everything is below `/api/whit/v1/` and is asked by GET; times are whole milliseconds since 1970; a
//! missing value is `null`.  `asked.rs` checks parameters, `charts.rs` is the table of charts, `files.rs`
//! has the files of the page itself.  A question has the limits of those of Prometheus's interface.

mod alerts;
mod asked;
mod chart;
mod charts;
mod compare;
mod database_picture;
mod databases;
mod device_pages;
mod devices;
mod files;
mod heaviest;
mod hosts;
mod live;
mod logs;
mod moment;
mod open_database;
mod others;
mod parts;
mod recorded_picture;
mod report;
mod report_file;
mod ruler;
mod section;
mod steps;
mod streams;
mod table;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http_server::{HttpAnswer, answer as answer_of, method_not_allowed};
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Method, Request, StatusCode};
use promql::{QueryError, Stop};
use serde_json::json;

use self::alerts::Alerts;
use self::asked::PageRequest;
use self::databases::Databases;
use self::device_pages::{DeviceFile, DevicePages};
use self::devices::Devices;
use self::live::Live;
use self::others::Others;
use self::parts::Parts;
pub use self::recorded_picture::{PictureFormat, draw_period};
pub use self::report::{PageReportError, ReportMade, write_report};
use self::section::{PageSection, SectionQuestion};
use self::streams::RefusedStreams;
use crate::evaluation::{self, Evaluation};
use crate::memory::{LooksForStop, QueryTurn};
use crate::other_host::OtherHost;
use crate::parameters::Parameters;
use crate::recordings::RecordingStorage;

/// Where the interface is.
const PREFIX: &str = "/api/whit/v1/";

/// The type of most answers.
const JSON: &str = "application/json";

/// The type of tables.
const CSV: &str = "text/csv; charset=utf-8";

/// The newest samples as they come.
const LIVE: &str = "live";

/// The recorded hosts.
const HOSTS: &str = "hosts";

/// Which sections there are.
const SECTIONS: &str = "sections";

/// The parameter of a question to a section that names the host whose whit is asked.
const OF: &str = "of";

/// The sections that are asked of other hosts.
const PASSED_SECTIONS: [&str; 6] = [SECTIONS, "logs", "devices", "databases", "alerts", "parts"];

/// What the page shows.
pub struct Page {
    recordings: Arc<RecordingStorage>,
    live: Arc<Live>,
    sections: Vec<Arc<dyn PageSection>>,
    others: Option<Others>,
    device_pages: Option<DevicePages>,
    refused: Arc<RefusedStreams>,
}

impl Page {
    /// A page of recordings.
    #[must_use]
    pub fn new(recordings: Arc<RecordingStorage>) -> Self {
        let page = Page {
            recordings,
            live: Arc::default(),
            sections: Vec::new(),
            others: None,
            device_pages: None,
            refused: Arc::default(),
        };
        let devices = Devices::new(page.recordings.clone());
        page.with(devices)
    }

    /// Adds the pages of devices that are in a folder, below `/mrtg/`.
    #[must_use]
    pub fn with_device_pages(mut self, folder: PathBuf) -> Self {
        self.device_pages = Some(DevicePages::new(folder.clone()));
        let named = Devices::new(self.recordings.clone()).with_pages(folder);
        self.sections.retain(|section| section.name() != named.name());
        self.with(named)
    }

    /// Adds `parts`: how the parts of a service are, and what they cost, by the account that
    /// the service keeps in a file.
    #[must_use]
    pub fn with_parts(self, account: PathBuf) -> Self {
        let parts = Parts::new(account, self.recordings.clone(), self.refused.clone());
        self.with(parts)
    }

    /// Adds other hosts: questions to them are passed on.
    ///
    /// # Errors
    ///
    /// If the system gives no thread for it, or there are too many.
    pub fn with_hosts(self, hosts: Vec<OtherHost>) -> io::Result<Self> {
        let others = if hosts.is_empty() { None } else { Some(Others::start(hosts)?) };
        Ok(Page { others, ..self })
    }

    /// Adds `logs`: what the store of `whit log` in a folder has, which need not be there yet.
    #[must_use]
    pub fn with_logs(self, store: &Path) -> Self {
        let logs = logs::Logs::new(store, self.refused.clone());
        self.with(logs)
    }

    /// Adds `alerts`: the states that `whit alert` keeps in a folder, which need not be there
    /// yet.
    #[must_use]
    pub fn with_alerts(self, folder: PathBuf) -> Self {
        self.with(Alerts { folder })
    }

    /// Adds the round-robin databases of folders.  What the caching daemon of an address holds
    /// of one is written before it is shown.
    #[must_use]
    pub fn with_databases(self, folders: Vec<PathBuf>, daemon: Option<String>) -> Self {
        self.with(Databases::new(folders, daemon))
    }

    /// Adds a section.
    fn with(mut self, section: impl PageSection + 'static) -> Self {
        self.sections.push(Arc::new(section));
        self
    }

    /// The section of a path below the interface, and the rest of that path.
    fn section<'a>(&self, path: &'a str) -> Option<(&Arc<dyn PageSection>, &'a str)> {
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        Some((self.sections.iter().find(|section| section.name() == name)?, rest))
    }

    fn section_names(&self) -> impl Iterator<Item = &'static str> {
        self.sections.iter().filter(|section| section.is_offered()).map(|section| section.name())
    }

    /// The recordings as a storage of series.
    pub(crate) fn recordings(&self) -> Arc<RecordingStorage> {
        self.recordings.clone()
    }

    /// Ends what runs for readers.
    pub(crate) fn end(&self) {
        self.live.end();
        self.sections.iter().for_each(|section| section.end());
    }
}

/// A question to the recordings.
type Question = fn(&PageRequest<'_>) -> Result<String, QueryError>;

/// The questions, by the last part of their path.
const QUESTIONS: &[(&str, Question)] = &[
    (HOSTS, hosts::hosts),
    ("charts", chart::charts),
    ("chart", chart::chart),
    ("ruler", ruler::ruler),
    ("moment", moment::moment),
    ("heaviest", heaviest::heaviest),
    ("compare", compare::compare),
    ("explain", compare::explain),
];

/// The question of a name.
fn question(name: &str) -> Option<Question> {
    QUESTIONS.iter().find(|(known, _)| *known == name).map(|(_, question)| *question)
}

/// The answer to a request, if its path is one of the page.
pub(crate) async fn answer(
    evaluation: &Arc<Evaluation>,
    page: &Arc<Page>,
    request: &Request<Bytes>,
) -> Option<HttpAnswer> {
    let path = request.uri().path();
    let Some(name) = path.strip_prefix(PREFIX) else {
        if page.device_pages.is_some() && device_pages::is_below(path) {
            return Some(device_page(evaluation, page, request).await);
        }
        if let Some(others) = others(page, request)
            && let Some(asked) = device_pages::of_other(path)
        {
            return Some(match *request.method() {
                Method::GET | Method::HEAD => device_page_of_other(evaluation, others, asked).await,
                _ => method_not_allowed("GET, HEAD"),
            });
        }
        let file = files::find(path)?;
        return Some(match *request.method() {
            Method::GET | Method::HEAD => files::file(file, request.headers()),
            _ => method_not_allowed("GET, HEAD"),
        });
    };
    if *request.method() != Method::GET {
        return Some(method_not_allowed("GET"));
    }
    if let Some(answer) = passed_on(evaluation, page, name, request).await {
        return Some(answer.unwrap_or_else(|error| failed(&error)));
    }
    let answered = match (name, question(name)) {
        (HOSTS, Some(question)) => {
            let own = asked(evaluation, page, request, move |asked, _| question(asked)).await;
            match (own, others(page, request)) {
                (Ok(own), Some(others)) => others.hosts(&own).await,
                (own, _) => own,
            }
            .map(|hosts| json_answer(StatusCode::OK, hosts))
        }
        (_, Some(question)) => {
            let most = evaluation.settings.answer_bytes_max;
            let ask =
                move |asked: &PageRequest<'_>, turn: &QueryTurn| sent(question(asked)?, most, turn);
            asked(evaluation, page, request, ask).await
        }
        (LIVE, None) => {
            let reader = asked(evaluation, page, request, |asked, _| live::reader(asked)).await;
            let added =
                reader.and_then(|reader| page.live.add(&page.recordings, reader, &page.refused));
            added.map(with_headers)
        }
        (SECTIONS, None) => {
            let names: Vec<&str> = page.section_names().collect();
            Ok(json_answer(StatusCode::OK, json!({ "sections": names }).to_string()))
        }
        _ => match page.section(name) {
            Some((section, path)) => of_section(evaluation, section, path, request).await,
            None => return Some(not_found(page, name)),
        },
    };
    Some(answered.unwrap_or_else(|error| failed(&error)))
}

/// The other hosts, unless one of them asks: they are not asked in a circle.
fn others<'a>(page: &'a Page, request: &Request<Bytes>) -> Option<&'a Others> {
    let is_passed_on = request.headers().contains_key(others::PASSED_ON);
    page.others.as_ref().filter(|_| !is_passed_on)
}

/// The answer of another host, if the question is for one.
async fn passed_on(
    evaluation: &Arc<Evaluation>,
    page: &Arc<Page>,
    name: &str,
    request: &Request<Bytes>,
) -> Option<Result<HttpAnswer, QueryError>> {
    let others = others(page, request)?;
    let is_of_section = is_passed_section(name);
    if name != LIVE && !is_of_section && question(name).is_none() {
        return None;
    }
    let parameters = Parameters::of(request.uri()).ok()?;
    let names_host = if is_of_section { OF } else { "host" };
    let host = parameters.get(names_host);
    // Most questions are for this host.
    if others.find(host, &[]).is_none() {
        let why = || QueryError::BadData(format!("there is no other host {host:?}"));
        return (is_of_section && !host.is_empty()).then(|| Err(why()));
    }
    let own = asked(evaluation, page, request, |asked, _| {
        Ok(asked.recordings.hosts().into_iter().map(str::to_owned).collect::<Vec<_>>())
    });
    let own = match own.await {
        Ok(own) => own,
        Err(error) => return Some(Err(error)),
    };
    if own.iter().any(|own| own == host) {
        return None;
    }
    let found = others.find(host, &own)?;
    let mut query = parameters.without(names_host);
    if !is_of_section {
        others::push_recorded(&mut query, &found);
    }
    Some(match name.rsplit('/').next() {
        Some(LIVE) => others.live(&found, name, query, &page.refused).await,
        _ => match others.ask(&found, name, &query).await {
            Ok(answer) => sent_on(evaluation, answer).await,
            failed => failed,
        },
    })
}

/// The answer of another host, when the server has memory for it.
async fn sent_on(
    evaluation: &Arc<Evaluation>,
    answer: HttpAnswer,
) -> Result<HttpAnswer, QueryError> {
    let memory = evaluation.memory.clone();
    let longest = evaluation.settings.query_time_max;
    let counted = move |stop: &LooksForStop| counted(answer, &QueryTurn::new(&memory, stop));
    evaluation::run(evaluation, longest, counted).await
}

/// Whether a path below the interface is that of a question to a section that another host may have.
fn is_passed_section(path: &str) -> bool {
    let (section, rest) = path.split_once('/').unwrap_or((path, ""));
    let is_plain = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_lowercase());
    PASSED_SECTIONS.contains(&section) && is_plain(rest)
}

/// A file of the pages of devices, read in a thread for queries.
async fn device_page(
    evaluation: &Arc<Evaluation>,
    page: &Arc<Page>,
    request: &Request<Bytes>,
) -> HttpAnswer {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return method_not_allowed("GET, HEAD");
    }
    let (page, path) = (page.clone(), request.uri().path().to_owned());
    let longest = evaluation.settings.query_time_max;
    let answered = evaluation::run(evaluation, longest, move |_| {
        page.device_pages
            .as_ref()
            .map_or_else(|| Err(QueryError::Cancelled), |pages| pages.answer(&path))
    });
    answered.await.unwrap_or_else(|error| failed(&error))
}

/// A file of the pages of another host's devices.
async fn device_page_of_other(
    evaluation: &Arc<Evaluation>,
    others: &Others,
    (host, path): (&str, &str),
) -> HttpAnswer {
    let asked = device_pages::decoded_path(host).and_then(|host| {
        let unknown = || QueryError::BadData(format!("there is no other host {host:?}"));
        Ok((others.find(&host, &[]).ok_or_else(unknown)?, DeviceFile::of(path)?))
    });
    let answered = match asked {
        Ok((found, Some(file))) => match others.device_page(&found, &file).await {
            Ok(answer) => sent_on(evaluation, answer).await,
            failed => failed,
        },
        Ok((_, None)) => Ok(device_pages::missing()),
        Err(error) => Err(error),
    };
    answered.unwrap_or_else(|error| failed(&error))
}

/// What a section answers, in a thread for queries.
async fn of_section(
    evaluation: &Arc<Evaluation>,
    section: &Arc<dyn PageSection>,
    path: &str,
    request: &Request<Bytes>,
) -> Result<HttpAnswer, QueryError> {
    let parameters = Parameters::of(request.uri())?;
    let (section, path) = (section.clone(), path.to_owned());
    let memory = evaluation.memory.clone();
    evaluation::run(evaluation, evaluation.settings.query_time_max, move |stop| {
        let question = SectionQuestion { path: &path, parameters: &parameters, stop };
        let answer = section.answer(&question).map(with_headers)?;
        counted(answer, &QueryTurn::new(&memory, stop))
    })
    .await
}

/// An answer that counts as memory of the server until it is sent.
fn counted(answer: HttpAnswer, turn: &QueryTurn) -> Result<HttpAnswer, QueryError> {
    let (head, body) = answer.into_parts();
    Ok(HttpAnswer::from_parts(head, turn.sent(body)?))
}

/// What asks the recordings in a thread for queries.
async fn asked<T: Send + 'static>(
    evaluation: &Arc<Evaluation>,
    page: &Arc<Page>,
    request: &Request<Bytes>,
    question: impl FnOnce(&PageRequest<'_>, &QueryTurn) -> Result<T, QueryError> + Send + 'static,
) -> Result<T, QueryError> {
    let parameters = Parameters::of(request.uri())?;
    let storage = page.recordings.clone();
    let longest = evaluation.settings.query_time_max;
    let memory = evaluation.memory.clone();
    evaluation::run(evaluation, longest, move |stop| {
        let recordings = storage.recordings().map_err(asked::refused)?;
        let ends = stop.clone();
        let recordings = recordings.ending(move || ends().is_some());
        let turn = QueryTurn::new(&memory, stop);
        let answered = question(&PageRequest { recordings, parameters: &parameters }, &turn);
        // An archive that was ended does not say why.
        answered.map_err(|error| match (error, stop()) {
            (QueryError::Cancelled, Some(Stop::TimedOut)) => QueryError::TimedOut,
            (error, _) => error,
        })
    })
    .await
}

/// The answer of a text that a question made, an object of JSON or a table: it is in memory until it is
/// sent, as those of queries are.
fn sent(answer: String, most: usize, turn: &QueryTurn) -> Result<HttpAnswer, QueryError> {
    if answer.len() > most {
        return Err(QueryError::BadData(format!(
            "the answer has more than {most} bytes: ask for less"
        )));
    }
    let (kind, text) = match answer.starts_with('{') {
        true => (JSON, layout::text::visible_json(answer)),
        false => (CSV, answer),
    };
    Ok(with_headers(answer_of(StatusCode::OK, kind, turn.text(text)?)))
}

fn not_found(page: &Page, name: &str) -> HttpAnswer {
    let known = QUESTIONS.iter().map(|(known, _)| *known).chain([LIVE, SECTIONS]);
    let known: Vec<&str> = known.chain(page.section_names()).collect();
    let why = format!("there is no {PREFIX}{name}: there are {}", known.join(", "));
    json_answer(StatusCode::NOT_FOUND, json!({ "error": why }).to_string())
}

/// A text that a section made: an object of JSON, or a table.
fn text(body: String) -> HttpAnswer {
    match body.starts_with('{') {
        true => json_answer(StatusCode::OK, body),
        false => with_headers(answer_of(StatusCode::OK, CSV, body)),
    }
}

fn failed(error: &QueryError) -> HttpAnswer {
    json_answer(evaluation::status(error), json!({ "error": error.to_string() }).to_string())
}

fn json_answer(status: StatusCode, body: String) -> HttpAnswer {
    with_headers(answer_of(status, JSON, layout::text::visible_json(body)))
}

fn with_headers(mut answer: HttpAnswer) -> HttpAnswer {
    files::harden(answer.headers_mut());
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
