//! The HTML page of a target: four pictures, each with a table of its numbers.
//!
//! The tree of elements, their classes and the comments between sections are those that style
//! sheets and programs made for MRTG's pages look for.  Text of the configuration is not escaped:
//! MRTG's users write HTML there.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use text::byte_text;
use text::escape::{html_attribute, html_text};

use super::{PagePeriod, Summary, comments, number};
use crate::config::Global;
use crate::{LegendColour, PollTarget};

/// A number that is not there.
const UNKNOWN: &str = "?????";

/// What a page shows.
#[derive(Debug, Clone)]
pub struct PageFacts<'a> {
    /// When the page is written, seconds since 1970.
    pub now_s: i64,
    /// The zone of times on the page.
    pub time_zone: &'a TimeZone,
    /// How long the device has been up.
    pub uptime: Option<&'a str>,
    /// The name of the device.
    pub device_name: Option<&'a str>,
    /// Numbers of the day, week, month and year; `None` where nothing was ever drawn.
    pub summaries: [Option<Summary>; 4],
}

/// The page as text.
#[must_use]
pub fn page(global: &Global, target: &PollTarget, facts: &PageFacts<'_>) -> String {
    let mut page = Page { out: String::with_capacity(10_000), global, target, facts };
    page.head();
    page.top();
    for (number, period) in PagePeriod::ALL.into_iter().enumerate() {
        if !period.is_in(&target.suppress) {
            page.graph(period, facts.summaries[number].as_ref());
        }
    }
    if !target.options.nolegend {
        page.legend();
    }
    if !target.options.nobanner {
        page.banner();
    }
    page.put(target.page_foot.as_deref().unwrap_or_default());
    page.put("\t</body>\n</html>\n\n");
    byte_text::shown(&page.out).into_owned()
}

struct Page<'a> {
    out: String,
    global: &'a Global,
    target: &'a PollTarget,
    facts: &'a PageFacts<'a>,
}

impl Page<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn colour(&self, number: usize) -> &str {
        self.target.colours.get(number).map_or("", |colour| &colour.rgb)
    }

    fn head(&mut self) {
        let refresh = self.global.refresh_s.unwrap_or(300);
        let title = &self.target.title;
        let head = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<!-- MRTG page by whit {} -->\n\
             <!-- Begin Head -->\n\t<head>\n\t\t<meta charset=\"UTF-8\" />\n\
             \t\t<meta http-equiv=\"refresh\" content=\"{refresh}\" />\n\
             \t\t<title>{title}</title>\n",
            env!("CARGO_PKG_VERSION")
        );
        self.put(&head);
        for (period, summary) in PagePeriod::ALL.into_iter().zip(&self.facts.summaries) {
            if let Some(summary) = summary {
                comments::write(&mut self.out, period, summary);
            }
        }
        self.style();
        let add_head = self.target.add_head.as_deref().unwrap_or_default().replace("\\n", "\n");
        self.put(&add_head);
        self.put("\n\t</head>\n<!-- End Head -->\n");
    }

    fn style(&mut self) {
        let (background, text) = (&self.target.background, &self.target.text_colour);
        let mut style = format!("body {{ background-color: {background}; color: {text}; }}\n");
        style.push_str(
            "div { border-bottom: 2px solid #aaa; padding-bottom: 10px; margin-bottom: 5px; }\n\
             div h2 { font-size: 1.2em; }\n\
             div.graph img { margin: 5px 0; }\n\
             div.graph table, div#legend table { font-size: .8em; }\n\
             div.graph table td { padding: 0 10px; text-align: right; }\n",
        );
        for (class, number) in [("in", 0), ("out", 1)] {
            let colour = self.colour(number);
            style.push_str(&format!(
                "div table .{class} th, div table td span.{class} {{ color: {colour}; }}\n"
            ));
        }
        let mut rows = Vec::new();
        if self.target.with_peak.is_some() {
            rows.extend([("inpeak", 2), ("outpeak", 3)]);
        }
        if self.target.options.dorelpercent {
            rows.push(("relpercent", 4));
        }
        for (class, number) in rows {
            let colour = self.colour(number);
            style.push_str(&format!("div table .{class} th {{ color: {colour}; }}\n"));
        }
        style.push_str(
            "div#legend th { text-align: right; }\n\
             div#footer { border: none; font-size: .8em; font-family: Arial, sans-serif; }\n\
             div#footer img { border: none; height: 25px; }",
        );
        self.put("\t\t<style>\n\t\t\t");
        self.put(&style.replace('\n', "\n\t\t\t"));
        self.put("\n\t\t</style>");
    }

    fn top(&mut self) {
        let body = match self.target.body_tag.as_deref() {
            None => "<body>".to_owned(),
            Some(tag) if tag.to_ascii_lowercase().contains("<body") => tag.to_owned(),
            Some(attributes) => format!("<body {attributes}>"),
        };
        let page_top = self.target.page_top.as_deref().unwrap_or_default();
        let mut today = date(self.facts.now_s, self.facts.time_zone);
        if let Some(zone) = &self.target.time_zone {
            today.push_str(&format!(" {zone}"));
        }
        let mut text = format!(
            "{body}\n\t{page_top}\n\t<p>The statistics were last updated <strong>{today}</strong>"
        );
        let uptime = self.facts.uptime.filter(|uptime| !uptime.is_empty());
        if let Some(uptime) = uptime.filter(|_| !self.target.options.noinfo) {
            let name = self.facts.device_name.filter(|name| !name.is_empty());
            let name = name.map(|name| format!("<strong>'{}'</strong>", html_text(name)));
            let name = name.as_deref().unwrap_or("the device");
            text.push_str(&format!(
                ",<br />\nat which time {name} had been up for <strong>{}</strong>.",
                html_text(uptime)
            ));
        }
        text.push_str("</p>");
        self.put(&text);
    }

    /// From the page up to the folder of all pages.
    fn upwards(&self) -> String {
        "../".repeat(self.target.directory.matches('/').count())
    }

    /// From the page to the pictures.
    fn image_path(&self) -> String {
        if self.global.html_dir == self.global.image_dir {
            return String::new();
        }
        [&self.upwards(), &self.global.image_link, &self.target.directory]
            .map(String::as_str)
            .concat()
    }

    /// What the interval of a period is called.
    fn heading(&self, period: PagePeriod) -> String {
        match period {
            PagePeriod::Day => {
                let minutes = f64::from(self.global.interval_s) / 60.0;
                format!("`Daily' Graph ({minutes} Minute")
            }
            PagePeriod::Week => "`Weekly' Graph (30 Minute".to_owned(),
            PagePeriod::Month => "`Monthly' Graph (2 Hour".to_owned(),
            PagePeriod::Year => "`Yearly' Graph (1 Day".to_owned(),
        }
    }

    /// The names of in and of out; None if a line is not shown.
    fn names(&self) -> [Option<String>; 2] {
        let name = |is_hidden: bool, own: &Option<String>, usual: &str| match own.as_deref() {
            _ if is_hidden => None,
            Some("") => None,
            Some(own) => Some(own.to_owned()),
            None => Some(usual.to_owned()),
        };
        let options = &self.target.options;
        [
            name(options.noi, &self.target.legend_in, "In"),
            name(options.noo, &self.target.legend_out, "Out"),
        ]
    }

    fn graph(&mut self, period: PagePeriod, summary: Option<&Summary>) {
        let heading = self.heading(period);
        let [path, name] = [&self.image_path(), &self.target.name]
            .map(|text| html_attribute(&byte_text::percent_encoded(text)));
        let full = period.name();
        let mut text = format!(
            "\n<!-- Begin {heading} interval) -->\n\t\t<div class=\"graph\">\n\
             \t\t\t<h2>{heading} Average)</h2>\n\
             \t\t\t<img src=\"{path}{name}-{full}.png\" title=\"{full}\" alt=\"{full}\" />\n\
             \t\t\t<table>\n\t\t\t\t<tr>\n\t\t\t\t\t<th></th>\n"
        );
        for column in ["Max", "Average", "Current"] {
            text.push_str(&format!("\t\t\t\t\t<th scope=\"col\">{column}</th>\n"));
        }
        text.push_str("\t\t\t\t</tr>");
        let names = self.names();
        let max_bytes = self.target.max_bytes;
        for (side, class) in ["in", "out"].into_iter().enumerate() {
            let Some(name) = &names[side] else { continue };
            let values = summary.map(|all| [all.max, all.mean, all.current].map(|one| one[side]));
            let cells =
                values.map(|v| v.map(|v| number::with_unit(self.target, v, max_bytes[side])));
            let cells = cells.unwrap_or_else(|| std::array::from_fn(|_| UNKNOWN.to_owned()));
            text.push_str(&row(class, name, &cells));
        }
        if self.target.options.dorelpercent
            && let Some(name) = self.percent_name()
        {
            let cells = summary
                .and_then(|all| all.percent)
                .unwrap_or_default()
                .map(|value| format!("{value}.0 %"));
            text.push_str(&row("relpercent", &name, &cells));
        }
        if let (true, [Some(input), Some(output)]) = (self.target.options.avgpeak, &names) {
            let mean_max = |side: usize| match summary {
                Some(all) => number::with_unit(self.target, all.mean_max[side], max_bytes[side]),
                None => UNKNOWN.to_owned(),
            };
            text.push_str(&format!(
                "\n\t\t\t\t<tr>\n\t\t\t\t\t<td colspan=\"8\">\n\
                 \t\t\t\t\t\tAverage max 5 min values for {heading} interval):\n\
                 \t\t\t\t\t\t<span class=\"in\">{input}</span> {}/\n\
                 \t\t\t\t\t\t<span class=\"out\">{output}</span> {}\n\
                 \t\t\t\t\t</td>\n\t\t\t\t</tr>",
                mean_max(0),
                mean_max(1),
            ));
        }
        let end = format!("\n\t\t\t</table>\n\t\t</div>\n<!-- End {heading} interval) -->\n");
        self.put(&text);
        self.put(&end);
    }

    fn percent_name(&self) -> Option<String> {
        match self.target.legends[4].as_deref() {
            Some("") => None,
            Some(own) => Some(own.to_owned()),
            None => Some("Percentage".to_owned()),
        }
    }

    /// The texts of the five lines of the legend.
    fn legend_texts(&self) -> [String; 5] {
        let options = &self.target.options;
        let what = if options.bits { "Bits" } else { "Bytes" };
        let per = match (options.perminute, options.perhour) {
            (true, _) => "Minute",
            (_, true) => "Hour",
            _ => "Second",
        };
        let own =
            |number: usize| self.target.legends[number].clone().filter(|legend| !legend.is_empty());
        let traffic = |way: &str| format!("{way} Traffic in {what} per {per}");
        let input = own(0).unwrap_or_else(|| traffic("Incoming"));
        let output = own(1).unwrap_or_else(|| traffic("Outgoing"));
        let peak = |way: &str| format!("Maximal 5 Minute {way} Traffic");
        let in_peak = own(2).unwrap_or_else(|| peak("Incoming"));
        let out_peak = own(3).unwrap_or_else(|| peak("Outgoing"));
        let percent = own(4).unwrap_or_else(|| format!("(({input})/({output}))*100"));
        [input, output, in_peak, out_peak, percent]
    }

    fn legend(&mut self) {
        let [input, output] = self.names().map(|name| name.is_some());
        let has_peaks = self.target.with_peak.is_some();
        let rows = [
            ("in", input),
            ("out", output),
            ("inpeak", has_peaks && input),
            ("outpeak", has_peaks && output),
            ("relpercent", self.target.options.dorelpercent),
        ];
        let texts = self.legend_texts();
        let mut text = "\n<!-- Begin Legend -->\n\t\t<div id=\"legend\">\n\t\t\t<table>".to_owned();
        for (number, (class, is_shown)) in rows.into_iter().enumerate() {
            if !is_shown {
                continue;
            }
            let colour: &str = self.target.colours.get(number).map_or("", colour_name);
            text.push_str(&format!(
                "\n\t\t\t\t<tr class=\"{class}\">\n\t\t\t\t\t<th scope=\"row\">{colour} ###</th>\n\
                 \t\t\t\t\t<td>{}</td>\n\t\t\t\t</tr>",
                texts[number]
            ));
        }
        text.push_str("\n\t\t\t</table>\n\t\t</div>\n<!-- End Legend -->\n");
        self.put(&text);
    }

    fn banner(&mut self) {
        let icons = match &self.global.icon_dir {
            Some(folder) => format!("{}/", folder.trim_end_matches('/')),
            None => format!("{}{}", self.upwards(), self.global.image_link),
        };
        let text = format!(
            "<!-- Begin MRTG Block -->\n\t\t<div id=\"footer\">\n\
             \t\t\t<img src=\"{icons}mrtg-m.png\" width=\"25\" alt=\"\" />\n\
             \t\t\t<p id=\"version\">whit {}, in the layout of MRTG</p>\n\
             \t\t</div>\n<!-- End MRTG Block -->\n",
            env!("CARGO_PKG_VERSION")
        );
        self.put(&text);
    }
}

fn colour_name(colour: &LegendColour) -> &str {
    &colour.name
}

fn row(class: &str, name: &str, cells: &[String; 3]) -> String {
    let mut text =
        format!("\n\t\t\t\t<tr class=\"{class}\">\n\t\t\t\t\t<th scope=\"row\">{name}</th>\n");
    for cell in cells {
        text.push_str(&format!("\t\t\t\t\t<td>{cell}</td>\n"));
    }
    text.push_str("\t\t\t\t</tr>");
    text
}

/// `Sunday, 22 November 2026 at 9:05`.
fn date(now_s: i64, time_zone: &TimeZone) -> String {
    let at = Timestamp::from_second(now_s).unwrap_or_default().to_zoned(time_zone.clone());
    at.strftime("%A, %-d %B %Y at %-H:%M").to_string()
}
