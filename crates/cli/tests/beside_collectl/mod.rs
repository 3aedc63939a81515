//! What the tests beside collectl share: whether it is there, its letters, how texts are compared,
//! and the differences that are wanted.

use std::process::Output;

/// The differences that are wanted: `recording|switches|exact or differs|headings`, a line each.
/// `exact` means that the case is equal under `--exact`; the headings are those of all that
/// differs in `docs/differences-collectl.md`, `; ` between.
pub(crate) const WANTED: &str = include_str!("../collectl_differences.txt");

/// A difference that is wanted.
pub(crate) struct Wanted {
    /// The recordings' pattern.
    pub(crate) recording: &'static str,
    /// The switches.
    pub(crate) switches: &'static str,
    /// Whether `--exact` must be equal.
    pub(crate) exact: bool,
    /// Where all that differs is explained, `; ` between.
    pub(crate) headings: &'static str,
}

/// The list, line by line.
pub(crate) fn all_wanted() -> impl Iterator<Item = Wanted> {
    WANTED.lines().map(|line| {
        let parts: Vec<&'static str> = line.split('|').collect();
        let [recording, switches, how, headings] = parts.as_slice() else {
            panic!("collectl_differences.txt: {line}")
        };
        Wanted { recording, switches, exact: *how == "exact", headings }
    })
}

/// Whether collectl is installed.
pub(crate) fn has_collectl() -> bool {
    testkit::is_installed("collectl", "collectl")
}

/// Summaries that brief mode has.
pub(crate) const BRIEF: &[&str] = &["b", "c", "d", "f", "i", "j", "m", "n", "s", "t", "x"];
/// All letters, for the formats that have them.
pub(crate) const VERBOSE: &[&str] = &[
    "b", "B", "c", "C", "d", "D", "E", "f", "F", "i", "j", "J", "m", "M", "n", "N", "s", "t", "x",
    "X", "y", "Y",
];
/// All letters of plot format.
pub(crate) const PLOT: &[&str] = &[
    "b", "B", "c", "C", "d", "D", "E", "f", "F", "i", "j", "J", "m", "M", "n", "N", "s", "t", "T",
    "x", "X", "y", "Y",
];

/// The first line that differs, theirs above ours, or what our program complained of.
pub(crate) fn first_difference(theirs: &[u8], ours: &Output) -> Option<String> {
    if theirs == ours.stdout {
        return None;
    }
    let split = |text: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(text).split('\n').map(str::to_owned).collect()
    };
    let (left, right) = (split(theirs), split(&ours.stdout));
    let at = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "(end)".to_owned());
    let (left, right) = around_difference(&line(&left), &line(&right));
    let mut text = format!("line {}\n      collectl |{left}|\n      whit     |{right}|", at + 1);
    let complaint = String::from_utf8_lossy(&ours.stderr).lines().next().map(str::to_owned);
    if let Some(complaint) = complaint {
        text.push_str(&format!("\n      whit says: {complaint}"));
    }
    Some(text)
}

/// What stands around the first character that differs: plot lines are long.
fn around_difference(left: &str, right: &str) -> (String, String) {
    let same = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
    let part = |text: &str| -> String {
        let from = same.saturating_sub(60);
        text.chars().skip(from).take(110).collect()
    };
    (part(left), part(right))
}
