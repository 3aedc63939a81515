//! What a key of the configuration takes, and what it becomes.

/// What a value has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// `true` or `false`.
    Switch,
    /// Text.
    Text,
    /// A path; one that does not begin with `/` is below the folder of `[data]`.
    Path,
    /// A list of paths.
    Paths,
    /// A list of words.
    Words,
    /// A list of addresses.
    Addresses,
    /// An address to listen at: `HOST:PORT`, `tls:HOST:PORT`, or the path of a socket.
    Address,
    /// Bytes: `"500M"`, `"10G"`.
    Size,
    /// A time: `"30s"`, `"12h"`, `"90d"`.
    Span,
    /// Intervals of a recorder: `"1:1:60"`.
    Interval,
    /// What recordings are kept: an age, a size, or both with a comma between.
    Keep,
    /// A share of one CPU in per cent.
    Percent,
    /// Receivers of messages.
    Receivers,
    /// Times of the week.
    Silences,
    /// A condition of an alert.
    Condition,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// What a value becomes on the command line of its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordPlace {
    /// Nothing: the service uses it.
    Service,
    /// An option and its value: `--listen=VALUE`, for each of a list.
    Option(&'static str),
    /// As an option, in seconds.
    Seconds(&'static str),
    /// An option if the switch is off.
    Unless(&'static str),
    /// Words of their own.
    Words,
    /// The subsystems of a recorder.
    Subsystems,
}

/// A key.
#[derive(Debug)]
pub(crate) struct ConfigKey {
    /// The table that it is in.
    pub(crate) table: &'static str,
    /// The name of the key.
    pub(crate) name: &'static str,
    /// What its value has to be.
    pub(crate) kind: ValueKind,
    /// The default, as it stands in a file; `None` if the key has none.
    pub(crate) default: Option<&'static str>,
    /// What its value becomes.
    pub(crate) place: WordPlace,
    /// What it is for.
    pub(crate) help: &'static str,
}

impl ConfigKey {
    /// `TABLE.NAME`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}.{}", self.table, self.name)
    }

    /// Whether a text of it is a path.
    pub(crate) fn is_path(&self) -> bool {
        matches!(self.kind, ValueKind::Path | ValueKind::Paths)
    }
}

/// A key of a table.
pub(crate) const fn key(
    table: &'static str,
    name: &'static str,
    kind: ValueKind,
    default: Option<&'static str>,
    place: WordPlace,
    help: &'static str,
) -> ConfigKey {
    ConfigKey { table, name, kind, default, place, help }
}
