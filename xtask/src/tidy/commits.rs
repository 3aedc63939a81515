//! Subjects of commits: `area: what it does`, at most 72 columns.

use super::Complaints;
use super::tree::git;
use crate::root;

/// Commits after this one keep the rule.  Change it only when history itself was changed.
const SINCE: &str = "002670c0";

/// Most columns of a subject.
const COLUMNS_MAX: usize = 72;

pub(super) fn check(complaints: &mut Complaints) -> anyhow::Result<()> {
    if !root().join(".git").exists() {
        return Ok(());
    }
    // A shallow clone may lack the commit; then there is nothing to look at.
    let range = format!("{SINCE}..HEAD");
    let Ok(subjects) = git(&["log", "--no-merges", "--format=%h %s", &range]) else {
        return Ok(());
    };
    for line in subjects.lines() {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        complaints.extend(wrong(subject).map(|why| format!("commit {commit}: {why}: {subject}")));
    }
    Ok(())
}

/// What is wrong with a subject.
fn wrong(subject: &str) -> Option<String> {
    let columns = subject.chars().count();
    if columns > COLUMNS_MAX {
        return Some(format!("{columns} columns, at most {COLUMNS_MAX}"));
    }
    let has_area = subject.split_once(": ").is_some_and(|(area, what)| {
        let is_of_area = |c: char| c.is_lowercase() || c.is_ascii_digit() || " ,-_/.*".contains(c);
        !area.is_empty() && area.chars().all(is_of_area) && !what.is_empty()
    });
    (!has_area).then(|| "wants `area: what it does`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_subjects_and_those_without_an_area_are_found() {
        assert_eq!(wrong("tidy: subjects have at most 72 columns"), None);
        assert_eq!(wrong("tests, bench: two areas"), None);
        assert!(wrong(&format!("tidy: {}", "x".repeat(67))).is_some());
        assert!(wrong("Fix things").is_some());
    }
}
