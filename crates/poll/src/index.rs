//! An index page over the targets of configurations, as `indexmaker` writes it: a table of pictures
//! that lead to the targets' pages.
//!
//! Elements, links and their order are those of indexmaker; the lines about who wrote the page are
//! not.

mod item;
mod order;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex::Regex;
use text::byte_text;
use text::escape::html_attribute;

use crate::config::Global;
use crate::pages::PagePeriod;
use crate::{Config, PollTarget};
pub use order::{IndexFilter, IndexSort};

/// What a picture's heading is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexSection {
    /// The `<h1>` of `PageTop`.
    #[default]
    Heading,
    /// `Title`.
    Title,
    /// The target's name.
    Name,
    /// The description of the interface.
    Description,
    /// `ifName` in `PageTop`.
    InterfaceName,
    /// `Port Name` in `PageTop`.
    PortName,
}

/// How an index looks.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub struct IndexRequest {
    /// The command line, for the page; `None` leaves it out.
    pub command_line: Option<String>,
    /// Which targets are shown.
    pub filters: Vec<IndexFilter>,
    /// The order of the targets.
    pub sort: IndexSort,
    /// The picture; `None` for links only.
    pub show: Option<PagePeriod>,
    /// Headings.
    pub section: IndexSection,
    /// Whether headings begin with the host.
    pub has_host_in_section: bool,
    /// `--addhead`.
    pub add_head: String,
    /// `--headeradd`.
    pub header_add: String,
    /// `--title`.
    pub title: String,
    /// `--subtitle`.
    pub subtitle: String,
    /// `--bodyopt`.
    pub body_options: String,
    /// `--headlevel`: 1 for `<H1>`.
    pub head_level: u32,
    /// `--pagetop`.
    pub page_top: String,
    /// `--pageend`.
    pub page_end: String,
    /// Whether there is nothing below the table.
    pub is_without_legend: bool,
    /// `--columns`.
    pub columns: u32,
    /// Whether each host begins a row.
    pub is_per_host: bool,
    /// Whether there is little space between pictures.
    pub is_compact: bool,
    /// Whether pictures are numbered.
    pub is_numbered: bool,
    /// Whether pictures stand before their headings.
    pub has_picture_first: bool,
    /// Width of pictures.
    pub width: Option<u32>,
    /// Height of pictures.
    pub height: Option<u32>,
    /// Whether heading and picture stand side by side.
    pub is_side_by_side: bool,
    /// Whether headings are bold.
    pub is_bold: bool,
    /// Whether headings are links.
    pub has_text_links: bool,
    /// `--rrdviewer`.
    pub viewer: String,
    /// `--icondir`.
    pub icon_dir: Option<String>,
    /// `--prefix`, with a slash at its end, or empty.
    pub prefix: String,
    /// The file that is written, with `--autoprefix`: prefixes lead from it to the pages.
    pub prefix_from: Option<String>,
    /// When the page is made, seconds since 1970.
    pub now_s: i64,
}

impl Default for IndexRequest {
    fn default() -> Self {
        IndexRequest {
            command_line: None,
            filters: Vec::new(),
            sort: IndexSort::Original,
            show: Some(PagePeriod::Day),
            section: IndexSection::Heading,
            has_host_in_section: false,
            add_head: String::new(),
            header_add: String::new(),
            title: "MRTG Index Page".to_owned(),
            subtitle: String::new(),
            body_options: "bgcolor=\"#ffffff\" text=\"#000000\" link=\"#000000\" \
                           vlink=\"#000000\" alink=\"#000000\""
                .to_owned(),
            head_level: 1,
            page_top: String::new(),
            page_end: String::new(),
            is_without_legend: false,
            columns: 2,
            is_per_host: false,
            is_compact: false,
            is_numbered: false,
            has_picture_first: false,
            width: None,
            height: None,
            is_side_by_side: false,
            is_bold: true,
            has_text_links: false,
            viewer: "/cgi-bin/14all.cgi".to_owned(),
            icon_dir: None,
            prefix: String::new(),
            prefix_from: None,
            now_s: 0,
        }
    }
}

/// Why there is no index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// No target is left.
    #[error("did not find any matching data in cfg file")]
    Empty,
    /// A target without the heading that is wanted.
    #[error("no H1 line pagetop property in {0} section")]
    NoHeading(String),
    /// A filter that is none.
    #[error(
        "invalid filter expression {0}: write title, pagetop or name, then =~ or !~, then a pattern"
    )]
    Filter(String),
    /// A pattern of a filter that cannot be used.
    #[error("the pattern `{0}` of a filter is not supported")]
    Pattern(String),
}

/// A target with what the index needs to know of its file.
struct Entry<'a> {
    target: &'a PollTarget,
    /// The name of its configuration file, without folder.
    file: &'a str,
    host: Option<String>,
    prefix: String,
}

/// Writes the page over configurations, each with the name of its file.
///
/// # Errors
/// If the index cannot be made: see [`IndexError`].
pub fn index(request: &IndexRequest, configs: &[(String, Config)]) -> Result<String, IndexError> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for (path, config) in configs {
        let file = path.rsplit('/').next().unwrap_or(path);
        let prefix = match &request.prefix_from {
            Some(output) => way(&config.global.html_dir, output),
            None => request.prefix.clone(),
        };
        for target in &config.targets {
            if entries.iter().any(|entry| entry.target.name == target.name) {
                continue;
            }
            let wants_host = request.has_host_in_section || request.is_per_host;
            let host = wants_host.then(|| host(&target.definition)).flatten();
            entries.push(Entry { target, file, host, prefix: prefix.clone() });
        }
    }
    let entries = order::ordered(entries, request)?;
    let (Some(first), Some((_, config))) = (entries.first(), configs.last()) else {
        return Err(IndexError::Empty);
    };
    let mut writer = IndexWriter { request, global: &config.global, out: String::new() };
    writer.head();
    if request.is_per_host {
        let host = html_attribute(first.host.as_deref().unwrap_or_default());
        let row = writer.host_row(first.host.as_deref());
        writer.out.push_str(&format!("<a NAME=\"{host}\"></a>{row}"));
    }
    writer.items(&entries)?;
    writer.end();
    Ok(byte_text::shown(&writer.out).into_owned())
}

struct IndexWriter<'a> {
    request: &'a IndexRequest,
    global: &'a Global,
    out: String,
}

impl IndexWriter<'_> {
    fn bold(&self) -> [&'static str; 2] {
        if self.request.is_bold { ["<B>", "</B>"] } else { ["", ""] }
    }

    /// The signs around headings.
    fn heading(&self) -> [String; 2] {
        if self.request.is_compact {
            return self.bold().map(str::to_owned);
        }
        let level = self.request.head_level;
        [format!("<H{level}>"), format!("</H{level}>")]
    }

    fn host_row(&self, host: Option<&str>) -> String {
        let [on, off] = self.heading();
        match host.map(html_attribute) {
            Some(host) => format!("<tr><td>{on}Interfaces of {host} {off}</td></tr>"),
            None => format!("<tr><td>{on}Special Items{off}</td></tr>"),
        }
    }

    fn icons(&self) -> String {
        let folder = self.request.icon_dir.as_ref().or(self.global.icon_dir.as_ref());
        match folder.filter(|folder| !folder.is_empty()) {
            Some(folder) => format!("{}/", folder.trim_end_matches('/')),
            None => self.global.image_link.clone(),
        }
    }

    fn head(&mut self) {
        let request = self.request;
        let refresh = match request.show {
            Some(PagePeriod::Week) => 1_800,
            Some(PagePeriod::Month) => 7_200,
            Some(PagePeriod::Year) => 86_400,
            _ => self.global.refresh_s.unwrap_or(300),
        };
        let expires = request.now_s + i64::from(self.global.interval_s) + 5;
        let expires = Timestamp::from_second(expires).unwrap_or_default().to_zoned(TimeZone::UTC);
        let expires = expires.strftime("%a, %d %b %Y %H:%M:%S GMT");
        let line = request.command_line.as_deref();
        let meta = html_attribute(line.unwrap_or("<suppressed>"));
        let (title, icons, add) = (&request.title, self.icons(), &request.header_add);
        let mut text = format!(
            "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01 Transitional//EN\" \
             \"http://www.w3.org/TR/html4/loose.dtd\">\n<HTML>\n<HEAD>\n    <TITLE>{title}</TITLE>\n\
             \x20   <meta http-equiv=\"content-type\" content=\"text/html; charset=utf-8\" >\n\
             \x20   <META NAME=\"Command-Line\" CONTENT=\"{meta}\" >\n\
             \x20   <META HTTP-EQUIV=\"Refresh\" CONTENT=\"{refresh}\" >\n\
             \x20   <META HTTP-EQUIV=\"Cache-Control\" content=\"no-cache\" >\n\
             \x20   <META HTTP-EQUIV=\"Pragma\" CONTENT=\"no-cache\" >\n\
             \x20   <META HTTP-EQUIV=\"Expires\" CONTENT=\"{expires}\" >\n\
             \x20   <LINK HREF=\"{icons}favicon.ico\" rel=\"shortcut icon\" >\n    {add}\n"
        );
        if !request.add_head.is_empty() {
            text.push_str(&format!("    {}\n", request.add_head));
        }
        let (body, top) = (&request.body_options, &request.page_top);
        let [on, off] = self.heading();
        text.push_str(&format!("</HEAD>\n\n<BODY {body}>\n\n{top}\n{on}{title}{off}\n"));
        if !request.subtitle.is_empty() {
            text.push_str(&format!("<p>{}</p>\n", request.subtitle));
        }
        let spacing = if request.is_compact { 0 } else { 10 };
        text.push_str(&format!("\n<TABLE BORDER=0 CELLPADDING=0 CELLSPACING={spacing}>\n<tr>\n"));
        self.out.push_str(&text);
    }

    fn items(&mut self, entries: &[Entry<'_>]) -> Result<(), IndexError> {
        let mut number = 0;
        let mut host = entries.first().and_then(|entry| entry.host.clone()).unwrap_or_default();
        for entry in entries {
            if self.request.is_per_host {
                let new = entry.host.as_deref().unwrap_or("unspecified host");
                if host != new {
                    host = new.to_owned();
                    let row = self.host_row(Some(&host));
                    self.out.push_str(&format!("{row}\n<tr>\n"));
                    number = 0;
                }
            }
            number += 1;
            let cell = item::cell(self.request, self.global, entry, number)?;
            self.out.push_str(&cell);
            if number % self.request.columns.max(1) == 0 {
                self.out.push_str("</tr>\n<tr>\n");
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        self.out.push_str("<td></td>\n</tr>\n</TABLE>\n");
        self.out.push_str(&format!("{}\n", self.request.page_end));
        if !self.request.is_without_legend {
            let (icons, version) = (self.icons(), env!("CARGO_PKG_VERSION"));
            self.out.push_str(&format!(
                "<BR>\n<P><IMG BORDER=0 SRC=\"{icons}mrtg-m.png\" WIDTH=25 HEIGHT=25 ALT=\"\">\n\
                 whit {version}, in the layout of MRTG</P>\n"
            ));
        }
        self.out.push_str("</BODY>\n</HTML>\n");
    }
}

/// The host of a target that is no arithmetic, with a capital.
fn host(definition: &str) -> Option<String> {
    let mut previous = ' ';
    for character in definition.chars() {
        if previous != '\\' && matches!(character, ' ' | '`') {
            return None;
        }
        previous = character;
    }
    let pattern = Regex::new(r"^.*[^\\]@([^:]*)").ok()?;
    let host = pattern.captures(definition)?.get(1)?.as_str();
    Some(capital(host))
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(rest).collect()
}

/// The way from a page that is written to a folder of pages.
fn way(folder: &str, output: &str) -> String {
    let mut folder: Vec<&str> = folder.trim_end_matches('/').split('/').collect();
    let mut output: Vec<&str> = output.split('/').collect();
    output.pop();
    while let (Some(a), Some(b)) = (folder.first(), output.first()) {
        if a != b {
            break;
        }
        folder.remove(0);
        output.remove(0);
    }
    let way = "../".repeat(output.len()) + &folder.join("/");
    let way = format!("{}/", way.trim_end_matches('/'));
    if way == "/" { String::new() } else { way }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ways_are_found() {
        assert_eq!(host("2:public@router.example:161").as_deref(), Some("Router.example"));
        assert_eq!(host("\\my\\ if:p@h").as_deref(), Some("H"));
        assert_eq!(host("1:a@b + 1:a@c"), None);
        assert_eq!(host("`cat x`"), None);
        assert_eq!(way("/a/b/c/", "/a/b/index.html"), "c/");
        assert_eq!(way("/a/b/", "/a/b/index.html"), "");
        assert_eq!(way("/a/b/", "/a/x/y/index.html"), "../../b/");
    }
}
