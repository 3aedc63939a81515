//! One cell of the table: heading and picture of a target.

use regex::RegexBuilder;
use text::byte_text;
use text::escape::{html_attribute, html_text};

use super::{Entry, IndexError, IndexRequest, IndexSection, capital};
use crate::config::{Global, LogFormat};

/// The cell of a target.
pub(super) fn cell(
    request: &IndexRequest,
    global: &Global,
    entry: &Entry<'_>,
    number: u32,
) -> Result<String, IndexError> {
    let cell = Cell { request, global, entry, section: section(request, entry)? };
    let tag = if request.is_side_by_side { "td" } else { "DIV" };
    let mut out = "<td>".to_owned();
    if !request.is_side_by_side {
        out.push_str("<DIV>");
    }
    match request.show {
        None => out.push_str(&cell.link(tag)),
        Some(period) => {
            let parts = [cell.text(number), cell.picture(period.name())];
            let [first, second] = if request.has_picture_first {
                let [text, picture] = parts;
                [picture, text]
            } else {
                parts
            };
            out.push_str(&format!("{first}</{tag}>\n<{tag}>{second}"));
        }
    }
    if !request.is_side_by_side {
        out.push_str("</DIV>");
    }
    out.push_str("\n</td>");
    Ok(out)
}

struct Cell<'a> {
    request: &'a IndexRequest,
    global: &'a Global,
    entry: &'a Entry<'a>,
    section: String,
}

impl Cell<'_> {
    fn bold(&self) -> [&'static str; 2] {
        if self.request.is_bold { ["<B>", "</B>"] } else { ["", ""] }
    }

    fn page(&self) -> String {
        let target = self.entry.target;
        let folder = clean(&format!("{}{}", self.entry.prefix, target.directory));
        address(&format!("{folder}{}.{}", target.name, target.extension))
    }

    /// The address of a program that draws a round-robin database.
    fn viewer(&self) -> String {
        let viewer = &self.request.viewer;
        let sign = if viewer.contains('?') { "&amp;" } else { "?" };
        let [name, file] = [&self.entry.target.name, self.entry.file].map(address);
        format!("{viewer}{sign}log={name}&amp;cfg={file}")
    }

    /// Without a picture.
    fn link(&self, tag: &str) -> String {
        let ([on, off], section) = (self.bold(), &self.section);
        match self.global.log_format {
            LogFormat::Rrdtool => format!("<A HREF=\"{}\">{on}{section}{off}</A>", self.viewer()),
            LogFormat::Rateup => {
                format!("{on}<A HREF=\"{}\">{section}{off}</A></{tag}>\n<{tag}>", self.page())
            }
        }
    }

    fn text(&self, number: u32) -> String {
        let ([on, off], section) = (self.bold(), &self.section);
        let mut out = String::new();
        if self.request.is_numbered {
            out.push_str(&format!("{on}{number}. {off}"));
        }
        if self.request.has_text_links {
            out.push_str(&format!("{on}<A HREF=\"{}\">{section}</A>{off}", self.page()));
        } else {
            out.push_str(&format!("{on}{section}{off}"));
        }
        out
    }

    fn picture(&self, period: &str) -> String {
        let (target, request) = (self.entry.target, self.request);
        let (name, border) = (html_attribute(&target.name), u8::from(!request.is_compact));
        if self.global.log_format == LogFormat::Rrdtool {
            let viewer = self.viewer();
            return format!(
                "<A HREF=\"{viewer}\"><IMG BORDER={border} ALT=\"{name} Traffic Graph\" \
                 SRC=\"{viewer}&amp;png={period}.s&amp;small=1\"></A>"
            );
        }
        let up = "../".repeat(target.directory.matches('/').count());
        let (prefix, folder, link) =
            (&self.entry.prefix, &target.directory, &self.global.image_link);
        let image = clean(&format!("{prefix}{folder}{up}{link}{folder}"));
        let image = address(&format!("{image}{}-{period}.png", target.name));
        let mut out = format!(
            "<A HREF=\"{}\"><IMG BORDER={border} ALT=\"{name} Traffic Graph\" \
             SRC=\"{image}\"",
            self.page()
        );
        for (key, size) in [("WIDTH", request.width), ("HEIGHT", request.height)] {
            if let Some(size) = size {
                out.push_str(&format!(" {key}=\"{size}\""));
            }
        }
        out.push_str("></A>");
        if !request.is_compact {
            out.push_str("<BR>");
        }
        out.push_str(&format!("\n<SMALL><!--#flastmod file=\"{}\" --></SMALL>", self.page()));
        out
    }
}

/// A path as an address in an attribute: a byte that is not UTF-8 is `%NN`.
fn address(path: &str) -> String {
    html_attribute(&byte_text::percent_encoded(path))
}

/// The heading of a target.
fn section(request: &IndexRequest, entry: &Entry<'_>) -> Result<String, IndexError> {
    let target = entry.target;
    let top = target.page_top.as_deref().unwrap_or_default();
    let name = &target.name;
    let mut section = match request.section {
        IndexSection::Heading => {
            found(r"<h1[^>+]*>(.+?)</h1", top).ok_or_else(|| IndexError::NoHeading(name.clone()))?
        }
        IndexSection::Title => target.title.clone(),
        IndexSection::Name => html_text(name),
        IndexSection::Description => {
            let own = target.set_env.iter().find(|(key, _)| key == "MRTG_INT_DESCR");
            let own = own.map(|(_, value)| value.clone()).filter(|value| !value.is_empty());
            // A variable of programs is no HTML, as all that is of pages is.
            let section = html_text(&own.unwrap_or_else(|| format!("No Description for {name}")));
            let pattern = format!(
                r"<td>Description:</td>\s*<td>{}\s*([^< ][^<]+?)</td>",
                regex::escape(&section)
            );
            found(&pattern, top).unwrap_or(section)
        }
        IndexSection::PortName => found(r"<td>Port Name:</td>\s*<td>(.*?)</td>", top)
            .unwrap_or_else(|| html_text(&format!("No Portname for {name}"))),
        IndexSection::InterfaceName => found(r"<td>ifname:</td>\s*<td>(.*?)</td>", top)
            .unwrap_or_else(|| html_text(&format!("No Portname for {name}"))),
    };
    if let Some(host) = &entry.host {
        let pattern = format!(r"\b{}\b", regex::escape(host));
        let is_named = RegexBuilder::new(&pattern).case_insensitive(true).build();
        if !is_named.is_ok_and(|pattern| pattern.is_match(&section)) {
            section = format!("{}: {section}", html_text(&capital(host)));
        }
    }
    Ok(section)
}

/// The first group of a pattern, whatever the case of letters.
pub(super) fn found(pattern: &str, text: &str) -> Option<String> {
    let pattern = RegexBuilder::new(pattern).case_insensitive(true).build().ok()?;
    Some(pattern.captures(text)?.get(1)?.as_str().to_owned())
}

/// An address in which `a/../a/` is `a/`.
fn clean(address: &str) -> String {
    let mut out = String::with_capacity(address.len());
    let mut rest = address;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(['/', '.']).filter(|&at| at > 0 && rest.as_bytes()[at] == b'/');
        if let Some(at) = end {
            let (part, after) = rest.split_at(at + 1);
            if let Some(again) = after.strip_prefix("../").and_then(|rest| rest.strip_prefix(part))
            {
                out.push_str(part);
                rest = again;
                continue;
            }
        }
        out.push(first);
        rest = &rest[first.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detours_are_left_out() {
        assert_eq!(clean("a/../a/b"), "a/b");
        assert_eq!(clean("x/a/../b/"), "x/a/../b/");
        assert_eq!(clean("../a/../a/"), "../a/");
        assert_eq!(clean("ab/../b/"), "ab/");
        assert_eq!(clean(""), "");
    }
}
