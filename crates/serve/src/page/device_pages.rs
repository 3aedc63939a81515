//! The pages and pictures that `whit poll` writes as MRTG does, at `/mrtg/`; those of another host, which
//! its whit is asked for, at `/mrtg-of/HOST/`.
//!
//! They are files of a folder, of the kinds that MRTG writes and no others: what else is in the folder
//! (logs, databases, configurations with communities) is not served.  A page may have the styles that it
//! brings, and runs no scripts, whoever has written it.

use std::io::Read as _;
use std::path::PathBuf;

use http_server::{AnswerBody, HttpAnswer, answer};
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, LOCATION};
use promql::QueryError;
use text::encoding::push_percent_encoded;

use super::files::{harden, kind};
use crate::beneath::FileBeneath;
use crate::parameters::decoded;

/// Where the pages are.
const PREFIX: &str = "/mrtg";

/// Where those of other hosts are.
const PREFIX_OF_OTHERS: &str = "/mrtg-of/";

/// The kinds of files that are served.
const KINDS: [&str; 6] = ["html", "htm", "png", "gif", "css", "ico"];

/// The most bytes of a file.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A page loads its own pictures and styles, and nothing else.
const POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'self' 'unsafe-inline'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Whether a path is one of these pages.
pub(super) fn is_below(path: &str) -> bool {
    path.strip_prefix(PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The name of another host and the path of one of its pages, if a path is such a one.
pub(super) fn of_other(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix(PREFIX_OF_OTHERS)?.split_once('/')
}

/// A part of a path, in which a plus is a plus.
pub(super) fn decoded_path(path: &str) -> Result<String, QueryError> {
    decoded(path.replace('+', "%2B").as_bytes())
}

/// A page or picture, by its path below the folder.
pub(super) struct DeviceFile {
    path: String,
    ending: String,
}

impl DeviceFile {
    /// The file of a path below `/mrtg/`; none if it is of a kind that is not served.
    pub(super) fn of(path: &str) -> Result<Option<Self>, QueryError> {
        let mut path = decoded_path(path)?;
        if path.is_empty() || path.ends_with('/') {
            path.push_str("index.html");
        }
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
        Ok(KINDS.contains(&&*ending).then_some(DeviceFile { path, ending }))
    }

    /// The path of the page at the whit of another host; none if it may lead out of the folder.
    pub(super) fn at_other(&self) -> Option<String> {
        let mut target = PREFIX.to_owned();
        for name in self.path.split('/') {
            if ["", ".", ".."].contains(&name) {
                return None;
            }
            target.push('/');
            push_percent_encoded(&mut target, name);
        }
        Some(target)
    }

    /// The answer with its content.
    pub(super) fn answer(&self, bytes: impl Into<AnswerBody>) -> HttpAnswer {
        hardened(answer(StatusCode::OK, kind(&format!("page.{}", self.ending)), bytes))
    }
}

/// The answer for a file that is not there.
pub(super) fn missing() -> HttpAnswer {
    let why = "there is no such page or picture of a device\n";
    hardened(answer(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", why))
}

/// A folder of pages.
pub(super) struct DevicePages {
    folder: PathBuf,
}

impl DevicePages {
    pub(super) fn new(folder: PathBuf) -> Self {
        DevicePages { folder }
    }

    /// The file of a path of the server.
    pub(super) fn answer(&self, path: &str) -> Result<HttpAnswer, QueryError> {
        let Some(rest) = path.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('/')) else {
            // The links of a page are relative to its folder.
            let mut moved = answer(StatusCode::PERMANENT_REDIRECT, "text/plain", "");
            moved.headers_mut().insert(LOCATION, HeaderValue::from_static("/mrtg/"));
            return Ok(moved);
        };
        let Some(file) = DeviceFile::of(rest)? else { return Ok(missing()) };
        let name = &file.path;
        let Ok(found) = FileBeneath::find(&self.folder, name) else { return Ok(missing()) };
        let mut bytes = Vec::new();
        let read = found.open();
        let read = read.and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
        read.map_err(|error| QueryError::Execution(format!("{name}: {error}")))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(QueryError::Execution(format!("{name}: it has more than 16 MiB")));
        }
        Ok(file.answer(bytes))
    }
}

fn hardened(mut answer: HttpAnswer) -> HttpAnswer {
    let headers = answer.headers_mut();
    harden(headers);
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer
}
