//! The command-line options of processes, and what they make the recorder read.

use std::path::Path;

use layout::{Idle, LetterRule, Lists, OptionKind, OptionValue, Options, SourceOption};

use super::selectors::Selectors;
use super::users::UserList;
use crate::process_options::ProcessOptions;

/// The members that most of them share.
const OPTION: SourceOption =
    SourceOption { letters: "Z", idle: Idle::Noted, ..SourceOption::EMPTY };

pub(crate) static PROCESS_FILTER: SourceOption = SourceOption {
    name: "procfilt",
    short: Some('Z'),
    value_name: "LIST|FILE",
    help: "Processes to show, and with record to read: a list of cTEXT regular expression in the \
           name, CTEXT at its beginning, fTEXT text in the command line, pPID, PPID of the \
           parent, uUID or uFROM-TO, UUSER; a + after the letter adds threads; or a file with \
           such a list",
    kind: OptionKind::Custom(|given| Ok(OptionValue::custom(Selectors::parse(given)?))),
    lists: Lists::NotSums,
    ..OPTION
};

pub(super) static PROCESS_OPTIONS: SourceOption = SourceOption {
    name: "procopts",
    help: "Processes: i I/O, m memory; c with exited children, f cumulative faults, k scripts \
           without shells, r short names, R numeric priorities, s S start, uN width of users, wN \
           arguments, x context switches; I no I/O; with record: t threads, p only the processes \
           of the first sample",
    kind: OptionKind::Letters { known: "cfiIkmprRsStuwxz", default: "" },
    rules: &[
        LetterRule::Width { letter: 'u', least: 8, most: 4096, is_required: false },
        LetterRule::Width { letter: 'w', least: 1, most: 4096, is_required: false },
        LetterRule::Excludes('i', "mI"),
        LetterRule::Excludes('s', "S"),
        LetterRule::OfTop("z"),
        LetterRule::OfRecord("pt"),
    ],
    ..OPTION
};

pub(crate) static PROCESS_STATE: SourceOption = SourceOption {
    name: "procstate",
    value_name: "DRSTWZ",
    help: "Processes in these states: D disk sleep, R running, S sleeping, T stopped or traced, Z \
           zombie",
    kind: OptionKind::Letters { known: "DRSTWZ", default: "" },
    lists: Lists::NotSums,
    ..OPTION
};

pub(super) static USER_LIST: SourceOption = SourceOption {
    name: "passwd",
    value_name: "FILE",
    help: "Names of users from a file like /etc/passwd",
    kind: OptionKind::Custom(|given| Ok(OptionValue::custom(UserList::read(Path::new(given))?))),
    recorded: |meta| match meta.origin() {
        "collectl" => UserList::of_this_machine().map(OptionValue::custom),
        _ => None,
    },
    ..OPTION
};

impl ProcessOptions {
    /// What to read for these options.  `all_columns` says that all columns of a plot line are
    /// shown; only `status`, the largest file of a process, has some of them.
    #[must_use]
    pub fn of(options: &Options, all_columns: bool) -> Self {
        let given = options.value(&PROCESS_OPTIONS);
        let selectors = options.value(&PROCESS_FILTER).custom::<Selectors>();
        let users = options.value(&USER_LIST).custom::<UserList>();
        ProcessOptions {
            choose: selectors.cloned().map(Selectors::chooser),
            threads: given.has('t'),
            without_io: given.has('I'),
            only_first: given.has('p'),
            status: given.has_any(&['m', 'x']) || all_columns,
            schedstat: given.has('x'),
            passwd: users.and_then(|users| users.path.clone()),
            ..ProcessOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use layout::SourceValues;

    use super::*;
    use crate::parse_option;

    #[test]
    fn letters_are_collectls() {
        for good in ["", "i", "m", "cfkprRsxu12w32", "u", "wk", "It"] {
            assert!(parse_option(&PROCESS_OPTIONS, good).is_ok(), "{good}");
        }
        for bad in ["im", "iI", "q", "u7", "w0", "3", "sS", "w99999999999"] {
            assert!(parse_option(&PROCESS_OPTIONS, bad).is_err(), "{bad}");
        }
        assert!(parse_option(&PROCESS_STATE, "DRSTWZ").is_ok());
        assert!(parse_option(&PROCESS_STATE, "X").is_err());
    }

    #[test]
    fn what_is_recorded_follows_from_the_options() {
        let value = |option, given| parse_option(option, given).unwrap();
        let of_sources = SourceValues::default()
            .with(&PROCESS_OPTIONS, value(&PROCESS_OPTIONS, "tx"))
            .with(&PROCESS_FILTER, value(&PROCESS_FILTER, "p42"));
        let asked = ProcessOptions::of(&Options { of_sources, ..Options::default() }, false);
        assert!(asked.threads && asked.status && asked.schedstat && asked.choose.is_some());
        assert!(!asked.without_io && !asked.only_first && asked.passwd.is_none());
        let all = ProcessOptions::of(&Options::default(), true);
        assert!(all.status && !all.threads && all.choose.is_none());
    }
}
