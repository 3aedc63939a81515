//! The cases: a command without an option, the same with it, and what tells them apart.
//!
//! A case is three lines of a text file, with an empty line after them; `#` begins a comment:
//!
//! ```text
//! - whit run echo ::: a          without the option
//! + whit run --tag echo ::: a    with it
//! = ^a\ta$                       a regular expression that only the second's output matches
//! ```
//!
//! `!` in place of `=`: only the first's output matches.

/// One case.
pub(crate) struct Case {
    pub(crate) without: &'static str,
    pub(crate) with: &'static str,
    #[allow(dead_code, reason = "who looks for options alone does not run the commands")]
    pub(crate) pattern: &'static str,
    /// Whether the command with the option prints what the pattern matches, and not the other.
    #[allow(dead_code, reason = "as above")]
    pub(crate) adds: bool,
}

pub(crate) const RUN: &str = include_str!("run.txt");
pub(crate) const RECORD: &str = include_str!("record.txt");
pub(crate) const PLAY: &str = include_str!("play.txt");
pub(crate) const TRACE: &str = include_str!("trace.txt");
pub(crate) const KERNEL: &str = include_str!("kernel.txt");
pub(crate) const REST: &str = include_str!("rest.txt");
pub(crate) const BENCH: &str = include_str!("bench.txt");

/// The cases of a file.
pub(crate) fn of(text: &'static str) -> impl Iterator<Item = Case> {
    let blocks = text.split("\n\n").map(|block| {
        block.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect::<Vec<_>>()
    });
    blocks.filter(|lines| !lines.is_empty()).map(|lines| {
        let line = |at: usize, mark: &str| lines.get(at).and_then(|line| line.strip_prefix(mark));
        let (added, removed) = (line(2, "= "), line(2, "! "));
        match (line(0, "- "), line(1, "+ "), added.or(removed), lines.len()) {
            (Some(without), Some(with), Some(pattern), 3) => {
                Case { without, with, pattern, adds: added.is_some() }
            }
            _ => panic!("not a case: {lines:#?}"),
        }
    })
}

/// The cases of all files.
#[allow(dead_code, reason = "who runs the commands takes one file after the other")]
pub(crate) fn all() -> impl Iterator<Item = Case> {
    [RUN, RECORD, PLAY, TRACE, KERNEL, REST, BENCH].into_iter().flat_map(of)
}
