//! The report as one page that opens without a network: tables, bars, and the commands that repeat
//! each row.
//!
//! Nothing may run in it and nothing may be fetched: the policy allows its own style alone.  Bars are
//! shapes of SVG within the page, of the colours of its style, so they follow a dark scheme.

use std::fmt::Write as _;

use base64ct::{Base64, Encoding as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use text::escape::html_text;

use super::super::row::{SeedRow, short};
use super::{EXPLANATION, Section};

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(super) fn page(head: &str, machine: &Value, sections: &[Section], cost: &str) -> String {
    let hash = Base64::encode_string(&Sha256::digest(STYLE.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'"
    );
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>The published measurements, repeated</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<h1>The published measurements, repeated</h1>\n<p>{}.</p>\n<p class=\"dim\">{}</p>\n",
        html_text(head),
        html_text(EXPLANATION)
    );
    out.push_str(&facts(machine));
    for section in sections {
        put_section(&mut out, section);
    }
    // Writing to a string cannot fail.
    let _ = writeln!(out, "<h2>Cost</h2>\n<p>{}</p>\n</body>\n</html>", html_text(cost));
    out
}

/// The machine and the versions of the programs.
fn facts(machine: &Value) -> String {
    let mut facts: Vec<(&str, String)> = Vec::new();
    for (name, key) in [
        ("machine", "name"),
        ("CPU", "cpu"),
        ("CPUs", "cpus"),
        ("memory", "memory"),
        ("kernel", "kernel"),
        ("architecture", "architecture"),
        ("load before", "load_before"),
    ] {
        match &machine[key] {
            Value::Null => {}
            Value::String(text) => facts.push((name, text.clone())),
            value => facts.push((name, value.to_string())),
        }
    }
    for version in machine["versions"].as_array().into_iter().flatten() {
        if let Some((program, version)) =
            version["program"].as_str().zip(version["version"].as_str())
        {
            facts.push((program, version.to_owned()));
        }
    }
    let rows = facts.iter().map(|(name, text)| {
        format!("<tr><th>{}</th><td>{}</td></tr>\n", html_text(name), html_text(text))
    });
    format!(
        "<details open><summary>The machine</summary>\n<div class=\"wide\"><table>\n{}</table></div>\n\
         </details>\n",
        rows.collect::<String>()
    )
}

fn put_section(out: &mut String, section: &Section) {
    let (number, about) = (section.seed.name(), html_text(section.seed.about()));
    let _ = writeln!(out, "<h2>{number} {about}</h2>");
    if let Some(grid) = &section.figures {
        let _ = writeln!(out, "<div class=\"wide\">{}</div>", grid.html());
        put_bars(out, section);
    }
    if let Some(grid) = &section.columns {
        let _ = writeln!(
            out,
            "<details><summary>In the columns of its author</summary>\n<div class=\"wide\">{}</div>\n\
             </details>",
            grid.html()
        );
    }
    for grid in section.kept.iter().chain(&section.lost) {
        let _ = writeln!(out, "<div class=\"wide\">{}</div>", grid.html());
    }
    if !section.notes.is_empty() {
        let notes = section.notes.iter().map(|note| format!("<li>{}</li>\n", html_text(note)));
        let notes: String = notes.collect();
        let _ = writeln!(out, "<details><summary>Notes</summary>\n<ul>\n{notes}</ul>\n</details>");
    }
    let commands = section.commands.iter().map(|(name, command)| {
        format!(
            "<tr><td>{}</td><td><code>{}</code></td></tr>\n",
            html_text(name),
            html_text(command)
        )
    });
    let _ = writeln!(
        out,
        "<details><summary>The command of each row</summary>\n<div class=\"wide\"><table>\n\
         {}</table></div>\n</details>",
        commands.collect::<String>()
    );
}

/// The width of a picture, of its names, and the height of a bar, in its own units.
const WIDTH: f64 = 720.0;
const NAMES: f64 = 280.0;
const BAR: f64 = 5.0;
const ROW: f64 = 4.0 * BAR + 8.0;
/// The least length of the shortest bar, in powers of ten.
const SHORTEST: f64 = 0.1;
/// Longest name, in characters.
const NAME_MAX: usize = 38;

/// Rows of one unit, which can be compared.
fn put_bars(out: &mut String, section: &Section) {
    let mut seen: Vec<&str> = Vec::new();
    for unit in section.rows.iter().map(|row| row.unit.as_ref()) {
        if seen.contains(&unit) {
            continue;
        }
        seen.push(unit);
        let rows: Vec<&SeedRow> = section.rows.iter().filter(|row| row.unit == unit).collect();
        put_picture(out, unit, &rows);
    }
}

/// The figures of a row with the class of each bar.
fn bars(row: &SeedRow) -> [(&'static str, Option<f64>); 4] {
    let median = |figure: &Option<super::Figure>| figure.as_ref().map(super::Figure::median);
    [
        ("published", row.published.as_ref().map(|one| one.value)),
        ("incumbent", median(&row.incumbent)),
        ("whit", median(&row.whit)),
        ("floor", median(&row.floor)),
    ]
}

/// Bars on a logarithmic scale, of powers of ten.
fn put_picture(out: &mut String, unit: &str, rows: &[&SeedRow]) {
    let values = || rows.iter().flat_map(|row| bars(row)).filter_map(|(_, value)| value);
    let values = || values().filter(|value| *value > 0.0 && value.is_finite());
    let (Some(least), Some(most)) = (values().reduce(f64::min), values().reduce(f64::max)) else {
        return;
    };
    // The shortest bar shall be seen, too.
    let (low, high) = ((least.log10() - SHORTEST).floor(), most.log10().ceil());
    let decades = (high - low).max(1.0);
    let x = |value: f64| NAMES + (value.log10() - low) / decades * (WIDTH - NAMES - 40.0);
    let height = rows.len() as f64 * ROW + 24.0;
    let unit = html_text(unit);
    let _ = writeln!(out, "<figure><figcaption>{unit}, logarithmic: {}</figcaption>", keys());
    let _ = writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{} rows in {}\">",
        rows.len(),
        text::escape::html_attribute(&unit)
    );
    for decade in 0..=decades as i32 {
        let value = 10_f64.powf(low + f64::from(decade));
        let (at, bottom) = (x(value), height - 20.0);
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{bottom}\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            height - 6.0,
            short(value)
        );
    }
    for (number, row) in rows.iter().enumerate() {
        let top = number as f64 * ROW + 4.0;
        let name: String = row.name.chars().take(NAME_MAX).collect();
        let cut = if row.name.chars().count() > NAME_MAX { "…" } else { "" };
        let _ = writeln!(
            out,
            "<text x=\"0\" y=\"{}\">{}{cut}</text>",
            top + 2.0 * BAR + 4.0,
            html_text(&name)
        );
        for (place, (class, value)) in bars(row).into_iter().enumerate() {
            let Some(value) = value.filter(|value| *value > 0.0 && value.is_finite()) else {
                continue;
            };
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{NAMES}\" y=\"{}\" width=\"{:.1}\" height=\"{}\">\
                 <title>{class}: {}</title></rect>",
                top + place as f64 * BAR,
                (x(value) - NAMES).max(1.0),
                BAR - 1.0,
                short(value)
            );
        }
    }
    out.push_str("</svg></figure>\n");
}

/// What the colours are.
fn keys() -> String {
    let key = |class: &str| {
        format!(
            "<span class=\"key\"><svg viewBox=\"0 0 1 1\"><rect class=\"{class}\" width=\"1\" \
             height=\"1\"/></svg> {class}</span>"
        )
    };
    ["published", "incumbent", "whit", "floor"].map(key).concat()
}
