//! A strict reader of OpenMetrics text, for tests.

use std::collections::BTreeMap;

/// A small reader of the format, strict where the format is: families are not interleaved,
/// their head lines come first and once, suffixes fit the type, the unit is in the name, the
/// points of a series stand together with growing times, and `# EOF` is the end.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, Vec<(f64, f64)>>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("no # EOF at the end")?;
    let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let (mut family, mut kind, mut seen) = (String::new(), String::new(), Vec::new());
    let mut latest = String::new();
    for line in body.lines() {
        if let Some(head) = line.strip_prefix("# ") {
            let mut words = head.splitn(3, ' ');
            let (word, name, rest) = (words.next(), words.next(), words.next());
            let (Some(word), Some(name), Some(rest)) = (word, name, rest) else {
                return Err(format!("short head {line}"));
            };
            if word == "TYPE" {
                if seen.contains(&name.to_owned()) {
                    return Err(format!("family {name} twice"));
                }
                (family, kind) = (name.to_owned(), rest.to_owned());
                seen.push(family.clone());
            }
            if name != family || word == "UNIT" && !name.ends_with(&format!("_{rest}")) {
                return Err(format!("misplaced {line}"));
            }
            continue;
        }
        let (labels, rest) = take_series(line).ok_or(format!("cannot read {line}"))?;
        let suffix = match kind.as_str() {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        let name = labels.split('{').next().unwrap();
        if name != format!("{family}{suffix}") {
            return Err(format!("{name} stands in family {family}"));
        }
        let (value, time) = rest.split_once(' ').ok_or("no time")?;
        let point = (time.parse().map_err(|_| time)?, value.parse().map_err(|_| value)?);
        let points = series.entry(labels.clone()).or_default();
        if !points.is_empty() && latest != labels {
            return Err(format!("{labels} is interleaved"));
        }
        if points.last().is_some_and(|last| *last >= point && last.0 >= point.0) {
            return Err(format!("{labels} goes back in time"));
        }
        points.push(point);
        latest = labels;
    }
    Ok(series)
}

/// Splits a line behind its labels; checks names, quotes and escapes.
fn take_series(line: &str) -> Option<(String, &str)> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = line.find(|c| !good(c))?;
    if line[name..].starts_with(' ') {
        return Some((line[..name].to_owned(), &line[name + 1..]));
    }
    let mut rest = line[name..].strip_prefix('{')?;
    loop {
        let label = rest.find(|c| !good(c)).filter(|&end| end > 0)?;
        rest = rest[label..].strip_prefix("=\"")?;
        let mut chars = rest.char_indices();
        let close = loop {
            match chars.next()? {
                (_, '\\') => {
                    chars.next().filter(|(_, c)| matches!(c, '\\' | '"' | 'n'))?;
                }
                (at, '"') => break at,
                (_, c) if c.is_control() => return None,
                _ => {}
            }
        };
        rest = &rest[close + 1..];
        if let Some(after) = rest.strip_prefix("} ") {
            let length = line.len() - after.len() - 1;
            return Some((line[..length].to_owned(), after));
        }
        rest = rest.strip_prefix(',')?;
    }
}

mod tests {
    use super::parse;

    #[test]
    fn the_reader_of_this_test_sees_faults() {
        for broken in [
            "# TYPE a counter\na 1 1\n# EOF\n",
            "# TYPE a gauge\na 1 1\n",
            "# TYPE a gauge\na 1 2\na 1 1\n# EOF\n",
            "# TYPE a gauge\n# TYPE b gauge\na 1 1\n# EOF\n",
            "# TYPE a gauge\n# UNIT a bytes\n# EOF\n",
            "# TYPE a gauge\na{x=\"\\z\"} 1 1\n# EOF\n",
        ] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }
}
