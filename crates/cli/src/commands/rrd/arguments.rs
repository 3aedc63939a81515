//! The command line of `whit rrd`, of which RRDtool's commands read their own options.

use std::ffi::OsString;

/// Arguments of `whit rrd`.
#[derive(clap::Args)]
#[command(after_help = crate::help::RRD)]
pub(crate) struct RrdArguments {
    /// A command and what it takes; `-` reads commands from standard input
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) words: Vec<OsString>,
}

impl RrdArguments {
    /// The arguments of a plain command line, which needs no parser: RRDtool's commands read their
    /// own options.  `None` for another verb, and for help.
    pub(crate) fn of(words: &[OsString]) -> Option<Self> {
        let (verb, words) = words.get(1..)?.split_first()?;
        (verb == "rrd" && is_plain(words.first()?)).then(|| Self { words: words.to_vec() })
    }

    /// The arguments after the verb, as [`RrdArguments::of`].
    pub(crate) fn after_verb(words: Vec<OsString>) -> Option<Self> {
        is_plain(words.first()?).then_some(Self { words })
    }

    /// Whether it reads commands, rather than being one.
    pub(crate) fn is_pipe(&self) -> bool {
        self.words.first().is_some_and(|word| word == "-")
    }
}

/// Whether the first word after the verb does not ask for help.
fn is_plain(word: &OsString) -> bool {
    word != "--help" && word != "-h"
}
