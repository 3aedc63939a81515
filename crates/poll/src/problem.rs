//! What is wrong with a configuration: where, and what to do.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigLine {
    /// The file, as it was named.
    pub file: Arc<PathBuf>,
    /// The number, from 1; 0 for the file as a whole.
    pub line: usize,
}

impl fmt::Display for ConfigLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file.display()),
            line => write!(f, "{}:{line}", self.file.display()),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where; `None` if it comes from no file.
    pub at: Option<ConfigLine>,
    /// Whether the configuration is refused for it.
    pub is_error: bool,
    /// What, in one line.
    pub text: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = &self.at {
            write!(f, "{at}: ")?;
        }
        if !self.is_error {
            f.write_str("warning: ")?;
        }
        f.write_str(&self.text)
    }
}

/// Problems in the order in which they are found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems {
    /// All of them.
    pub(crate) list: Vec<ConfigProblem>,
}

/// Problems that are kept; a file of garbage has one in every line.
const PROBLEMS_MAX: usize = 1_000;

impl Problems {
    /// Adds one for which the configuration is refused.
    pub(crate) fn error(&mut self, at: Option<&ConfigLine>, text: impl Into<String>) {
        self.add(at, true, text.into());
    }

    /// Adds one that is only said.
    pub(crate) fn warning(&mut self, at: Option<&ConfigLine>, text: impl Into<String>) {
        self.add(at, false, text.into());
    }

    fn add(&mut self, at: Option<&ConfigLine>, is_error: bool, text: String) {
        let is_first_error = is_error && !self.has_errors();
        if self.list.len() < PROBLEMS_MAX || is_first_error {
            self.list.push(ConfigProblem { at: at.cloned(), is_error, text });
        }
    }

    /// Whether the configuration is refused.
    pub(crate) fn has_errors(&self) -> bool {
        self.list.iter().any(|problem| problem.is_error)
    }
}

/// A definition, or a word of one, for a message: each `community@` is left out of its
/// `community@host`, and what stands in backticks, as commands have communities and passwords too.
pub(crate) fn without_communities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Where the word begins in `out`, and where its community may begin.
    let (mut word, mut community) = (0, None);
    let mut is_escaped = false;
    let mut is_command = false;
    for character in text.chars() {
        if is_command && character != '`' {
            continue;
        }
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '@' => {
                out.truncate(community.unwrap_or(word));
                continue;
            }
            '`' => {
                is_command = !is_command;
                if is_command {
                    out.push_str("`…");
                    continue;
                }
            }
            ':' if community.is_none() => community = Some(out.len() + 1),
            c if c.is_whitespace() => (word, community) = (out.len() + 1, None),
            _ => {}
        }
        out.push(character);
    }
    out
}

/// What was found wrong in a definition, without the words that are of its communities only.
pub(crate) fn without_secrets(what: &str, definition: &str) -> String {
    let shown = without_communities(definition);
    let parts = what.split('`').enumerate();
    let parts = parts.map(|(number, part)| match number % 2 == 0 || shown.contains(part) {
        true => part,
        false => "…",
    });
    parts.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communities_are_left_out() {
        for (text, expected) in [
            ("2:public@router:161::::2", "2:router:161::::2"),
            ("#eth0\\:1\\@x:p:q\\@r@[::1]", "#eth0\\:1\\@x:[::1]"),
            ("1.3&1.4:a\\ b@host + 2:c@host", "1.3&1.4:host + 2:host"),
            ("public@router", "router"),
            ("1:a@b+2:c@d", "1:d"),
            ("`snmpget -c a@b h` + 1:c@d", "`…` + 1:d"),
            ("`snmpget -c a", "`…"),
        ] {
            assert_eq!(without_communities(text), expected);
        }
        let what = "`secret` after `2` is no operator";
        assert_eq!(without_secrets(what, "2:secret@h st"), "`…` after `2` is no operator");
    }
}
