//! The files of the page, which are part of the program.

use http_server::{HttpAnswer, answer};
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, HeaderMap,
    HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap as Headers, StatusCode};

/// The page itself.
const INDEX: &str = "index.html";

/// A file.
pub(crate) struct PageFile {
    /// The path below the folder of the page.
    name: &'static str,
    bytes: &'static [u8],
    /// Packed by gzip, if that is shorter.
    packed: Option<&'static [u8]>,
    checksum: u64,
}

/// All files: `build.rs` finds them.
const FILES: &[PageFile] = include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

/// The file of a path.
pub(crate) fn find(path: &str) -> Option<&'static PageFile> {
    let name = match path {
        "/" => INDEX,
        _ => path.strip_prefix('/')?,
    };
    // What tells how the files were made is not part of the page.
    let is_shown = |file: &&PageFile| file.name == INDEX || file.name.starts_with("assets/");
    FILES.iter().filter(is_shown).find(|file| file.name == name)
}

/// The text of a file that is part of every page.
pub(super) fn text(name: &str) -> &'static str {
    let file = FILES.iter().find(|file| file.name == name);
    file.and_then(|file| std::str::from_utf8(file.bytes).ok()).unwrap_or_default()
}

/// Answers a request for a file.
pub(crate) fn file(file: &'static PageFile, asked: &HeaderMap) -> HttpAnswer {
    let packed = file.packed.filter(|_| takes_gzip(asked));
    // Packed and as it is are two representations (RFC 9110, 8.8.3).
    let suffix = if packed.is_some() { "-gzip" } else { "" };
    let tag = format!("\"{:016x}{suffix}\"", file.checksum);
    let is_known = asked.get_all(IF_NONE_MATCH).iter().any(|known| {
        known.to_str().is_ok_and(|known| {
            known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag)
        })
    });
    let mut found = match is_known {
        true => answer(StatusCode::NOT_MODIFIED, kind(file.name), ""),
        false => answer(StatusCode::OK, kind(file.name), packed.unwrap_or(file.bytes)),
    };
    let headers = found.headers_mut();
    harden(headers);
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    // Other files have a new name when they change, or are asked for again by their tag.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    if packed.is_some() && !is_known {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    found
}

/// Says that a browser loads nothing from elsewhere and guesses no types.
pub(crate) fn harden(headers: &mut Headers) {
    let policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}

/// Whether the client takes gzip (RFC 9110, 12.5.3).
fn takes_gzip(asked: &HeaderMap) -> bool {
    let accepted = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let quality = quality.trim().strip_prefix("q=").and_then(|text| text.parse::<f64>().ok());
        name.trim().eq_ignore_ascii_case("gzip") && quality.is_some_and(|quality| quality > 0.0)
    })
}

pub(super) fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html" | "htm") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("gif") => "image/gif",
        Some("ico") => "image/x-icon",
        Some("json" | "webmanifest") => "application/json",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
