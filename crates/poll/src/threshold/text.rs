//! Texts of thresholds: numbers as MRTG reads and writes them, and the messages of mails.

use super::Bound;
use crate::{PollTarget, ThresholdRules};

/// The mail about a bound that was broken, or that is kept again.
pub(super) fn message(
    target: &PollTarget,
    bound: &Bound,
    rules: &ThresholdRules,
    sender: &str,
    address: &str,
) -> String {
    let (kind, name, direction) = (bound.kind, bound.name(), bound.direction());
    let (bound_text, value) = (&bound.bound_text, &bound.value_shown);
    let (state, against) = match bound.is_broken() {
        true => ("BROKEN", format!("{bound_text} vs {value} ")),
        false => ("UN-BROKEN", format!("{} vs {}", bound.written, bound.value_text)),
    };
    let title = format!("Threshold {state}");
    let mut text = format!(
        "From: {sender}\nTo: {address}\n\
         Subject: [MRTG-TH] {state} {} {kind} {name} {direction} ( {against})\n\n\
         {title}\n{}\n\n{}\n\n",
        target.name,
        "-".repeat(title.len()),
        target.title,
    );
    for (label, value) in [
        ("Target", target.name.as_str()),
        ("Type", kind),
        ("Direction", direction),
        ("Bound", name),
        ("Threshold", bound_text),
        ("Current", value),
    ] {
        text.push_str(&format!("{label:>9}: {value}\n"));
    }
    text.push_str(&format!("\n{}\n", plain(target.page_top.as_deref().unwrap_or_default())));
    if let Some(description) = rules.description.as_deref().filter(|text| !text.is_empty()) {
        text.push_str(&format!("\n{description}\n"));
    }
    text
}

/// HTML as plain lines: without its heading, a line for each row of a table, no tags.
fn plain(html: &str) -> String {
    let mut text = html.to_owned();
    if let (Some(from), Some(to)) = (text.find("<h1>"), text.find("</h1>"))
        && from < to
    {
        text.replace_range(from..to + 5, "");
    }
    let mut out = String::new();
    let (mut rest, mut is_row) = (text.as_str(), false);
    while let Some(at) = rest.find('<') {
        match is_row {
            true => out.push_str(&rest[..at].replace('\n', " ")),
            false => out.push_str(&rest[..at]),
        }
        let Some(end) = rest[at..].find('>') else {
            rest = &rest[at..];
            break;
        };
        let tag = &rest[at..at + end];
        match tag {
            "<tr" => is_row = true,
            "</tr" => (is_row, _) = (false, out.push('\n')),
            "<td" => out.push(' '),
            _ => {}
        }
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    let lines = out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_top_becomes_lines() {
        let html = "<h1>Top</h1><table>\n<tr><td>System:</td>\n<td>box <b>1</b></td></tr>\n<tr>\
                    <td>Max:</td> <td>1 kB</td></tr></table>";
        assert_eq!(plain(html), "System: box 1\nMax: 1 kB\n");
        assert_eq!(plain("a < b"), "a < b\n");
    }
}
