//! The pages and pictures that `whit poll` writes as MRTG does, at `/mrtg/`.
//!
//! They are files of a folder, of the kinds that MRTG writes and no others: what else is in the folder
//! (logs, databases, configurations with communities) is not served.  A page may have the styles that it
//! brings, and runs no scripts.

use std::io::Read as _;
use std::path::PathBuf;

use http_server::{HttpAnswer, answer};
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, LOCATION};
use promql::QueryError;

use super::files::{harden, kind};
use crate::beneath::FileBeneath;
use crate::parameters::decoded;

/// Where the pages are.
const PREFIX: &str = "/mrtg";

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
        // In a path a plus is a plus.
        let mut name = decoded(rest.replace('+', "%2B").as_bytes())?;
        if name.is_empty() || name.ends_with('/') {
            name.push_str("index.html");
        }
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
        let found = match KINDS.contains(&&*ending) {
            true => FileBeneath::find(&self.folder, &name).ok(),
            false => None,
        };
        let Some(found) = found else {
            let why = "there is no such page or picture of a device\n";
            return Ok(hardened(answer(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", why)));
        };
        let mut bytes = Vec::new();
        let read = found.open();
        let read = read.and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
        read.map_err(|error| QueryError::Execution(format!("{name}: {error}")))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(QueryError::Execution(format!("{name}: it has more than 16 MiB")));
        }
        Ok(hardened(answer(StatusCode::OK, kind(&format!("page.{ending}")), bytes)))
    }
}

fn hardened(mut answer: HttpAnswer) -> HttpAnswer {
    let headers = answer.headers_mut();
    harden(headers);
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer
}
