//! The switches of single sources (`--dskopts`, `--cpufilt` and their like): made from what the
//! sources declare ([`source::Entry::options`]), which alone know them by name.

use anyhow::{bail, ensure};
use clap::{Arg, ArgMatches, Command, ValueHint};
use layout::{Idle, LetterRule, Lists, Options, Selection, SourceOption, SourceValues};
use sample::Meta;
use source::Entry;

use super::formats::joined;
use super::is_shown;

/// The switches that were given, in the order of the sources: with `OF_RECORD` those that say what
/// to record, else those that say what to show.
#[derive(Debug, Default)]
pub(crate) struct SourceArguments<const OF_RECORD: bool>(
    Vec<(&'static Entry, &'static SourceOption, String)>,
);

/// What `whit record` and `whit play` share.
pub(crate) type ShownSourceArguments = SourceArguments<false>;

/// What `whit record` alone has.
pub(crate) type RecordSourceArguments = SourceArguments<true>;

impl<const OF_RECORD: bool> SourceArguments<OF_RECORD> {
    fn from_texts(text_of: impl Fn(&'static str) -> Option<String>) -> Self {
        let given = options(OF_RECORD)
            .filter_map(|(entry, option)| Some((entry, option, text_of(option.name)?)));
        SourceArguments(given.collect())
    }

    /// Adds their values to others.
    ///
    /// # Errors
    /// One line about a value that its option does not take.
    pub(crate) fn add_to(&self, values: &mut SourceValues) -> anyhow::Result<()> {
        for (_, option, text) in &self.0 {
            values.set(option, source::parse_option(option, text)?);
        }
        Ok(())
    }
}

impl ShownSourceArguments {
    /// As if these switches were given.
    #[cfg(test)]
    pub(crate) fn of(given: &[(&str, &str)]) -> Self {
        let text = |name| given.iter().find(|(given, _)| *given == name).map(|(_, text)| *text);
        Self::from_texts(|name| text(name).map(str::to_owned))
    }

    /// The values of the options.
    ///
    /// # Errors
    /// One line about a value that its option does not take.
    pub(crate) fn values(&self) -> anyhow::Result<SourceValues> {
        let mut values = SourceValues::default();
        self.add_to(&mut values)?;
        Ok(values)
    }

    /// Each switch with a rule about letters that it was given, and those letters.
    fn rules(&self) -> impl Iterator<Item = (&Entry, &SourceOption, LetterRule, String)> {
        self.0.iter().flat_map(|(entry, option, text)| {
            option.rules.iter().filter_map(move |rule| {
                let ruled: String =
                    letters_of(rule).chars().filter(|c| text.contains(*c)).collect();
                (!ruled.is_empty()).then_some((*entry, *option, *rule, ruled))
            })
        })
    }

    /// Whether letters ask for what cannot be shown on one line.
    pub(super) fn forces_verbose(&self) -> bool {
        self.rules().any(|(_, _, rule, _)| matches!(rule, LetterRule::NeedsLines(_)))
    }

    /// Refuses switches, and letters of them, of what is not shown; `letters` are those of `-o`.
    pub(super) fn check(&self, subsystems: &Selection, letters: &str) -> anyhow::Result<()> {
        for (entry, option, _) in &self.0 {
            if let Some((needed, message)) = option.needs {
                ensure!(letters.chars().any(|letter| needed.contains(letter)), message);
            }
            if let Idle::Refused(what) = option.idle
                && !has_effect(entry, option, subsystems)
            {
                bail!("--{} is for {what}: {}", option.name, switches_of(entry, option));
            }
        }
        for (_, option, rule, _) in self.rules() {
            if let LetterRule::For(letters, of) = rule {
                ensure!(
                    of.chars().any(|letter| is_shown(subsystems, letter)),
                    "--{} {} {} for {}",
                    option.name,
                    listed(letters.chars()),
                    if letters.len() == 1 { "is" } else { "are" },
                    listed(of.chars().map(|letter| format!("-s{letter}")))
                );
            }
        }
        Ok(())
    }

    /// A message for each switch that has no effect on what is shown.  collectl takes these
    /// silently, so scripts may contain them; the message says that they have no effect.
    pub(super) fn idle(&self, subsystems: &Selection) -> Vec<String> {
        let idle = self.0.iter().filter(|(entry, option, _)| {
            // One that needs letters of -o is refused with them or without.
            option.idle == Idle::Noted
                && option.needs.is_none()
                && !has_effect(entry, option, subsystems)
        });
        idle.map(|(entry, option, _)| {
            let switches = switches_of(entry, option);
            format!("--{} is for {switches} and changes nothing here", option.name)
        })
        .collect()
    }

    /// Refuses what does not go with a list (`--top`), or with sums of all (`--by`); `list` is the
    /// switch that asks for it.
    pub(super) fn check_list(&self, list: &str, is_sum: bool) -> anyhow::Result<()> {
        if let Some((_, option, _)) =
            self.0.iter().find(|(_, option, _)| option.lists == Lists::None)
        {
            bail!("--{} does not go with {list}", option.name);
        }
        match self.filters().as_slice() {
            [] => Ok(()),
            _ if !is_sum => Ok(()),
            filters => bail!("{list} sums up all: leave {} out", listed(filters.iter())),
        }
    }

    /// Refuses letters that only a list needs.
    pub(super) fn check_no_list(&self) -> anyhow::Result<()> {
        match self.rules().find(|(_, _, rule, _)| matches!(rule, LetterRule::OfTop(_))) {
            Some((_, option, _, letters)) => bail!("--{} {letters} is for --top", option.name),
            None => Ok(()),
        }
    }

    /// Refuses letters that say what to record.
    pub(crate) fn check_played(&self) -> anyhow::Result<()> {
        for (_, option, rule, _) in self.rules() {
            if let LetterRule::OfRecord(letters) = rule {
                bail!(
                    "--{} {} are for record; play shows what was recorded",
                    option.name,
                    listed(letters.chars())
                );
            }
        }
        Ok(())
    }

    /// The switches given that choose instances, as sums over all cannot.
    pub(crate) fn filters(&self) -> Vec<String> {
        let filters = self.0.iter().filter(|(_, option, _)| option.lists == Lists::NotSums);
        filters.map(|(_, option, _)| format!("--{}", option.name)).collect()
    }

    /// Sets what a recording says in place of options that are not given.
    pub(crate) fn set_recorded(&self, meta: &Meta, options: &mut Options, plot: bool) {
        for (_, option) in source::options() {
            if options.value(option).is_set() {
                continue;
            }
            let Some(value) = (option.recorded)(meta) else { continue };
            options.of_sources.set(option, value);
            let given = options.value(option);
            let needs_lines = option.rules.iter().any(|rule| match rule {
                LetterRule::NeedsLines(letters) => letters.chars().any(|c| given.has(c)),
                _ => false,
            });
            options.verbose |= needs_lines && !plot;
        }
    }

    /// What is read of a recording when `subsystems` are shown: what some options need besides.
    pub(crate) fn read_with(&self, subsystems: &Selection) -> Selection {
        let mut read = subsystems.clone();
        for (_, option, _) in &self.0 {
            if let Some((shown, needed)) = option.reads_too
                && subsystems.has(shown)
            {
                read.push_letter(needed);
            }
        }
        read
    }
}

/// The letters that a rule is about.
fn letters_of(rule: &LetterRule) -> &'static str {
    match rule {
        LetterRule::For(letters, _)
        | LetterRule::NeedsLines(letters)
        | LetterRule::LeavesOutIdle(letters)
        | LetterRule::OfTop(letters)
        | LetterRule::OfRecord(letters) => letters,
        // What a value must be like by itself was checked when it was read.
        LetterRule::Excludes(..) | LetterRule::Width { .. } => "",
    }
}

/// Whether anything is shown that the option has an effect on.
fn has_effect(entry: &Entry, option: &SourceOption, subsystems: &Selection) -> bool {
    match option.letters {
        "" => entry.asked_by(subsystems),
        letters => letters.chars().any(|letter| is_shown(subsystems, letter)),
    }
}

/// The switches that show what the option has an effect on: `-sd and -sD`.
fn switches_of(entry: &Entry, option: &SourceOption) -> String {
    match option.letters {
        "" => format!("-s {}", entry.name),
        letters => listed(letters.chars().map(|letter| format!("-s{letter}"))),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(words: impl Iterator<Item = impl std::fmt::Display>) -> String {
    joined(words, " and")
}

/// The options that say what to record, or the others.
fn options(is_of_record: bool) -> impl Iterator<Item = (&'static Entry, &'static SourceOption)> {
    source::options().filter(move |(_, option)| option.is_of_record == is_of_record)
}

fn arguments(is_of_record: bool) -> impl Iterator<Item = Arg> {
    options(is_of_record).map(|(_, option)| {
        let hint =
            if option.value_name == "FILE" { ValueHint::FilePath } else { ValueHint::Unknown };
        Arg::new(option.name)
            .long(option.name)
            .short(option.short)
            .visible_aliases(option.alias)
            .value_name(option.value_name)
            .value_hint(hint)
            .help(option.help)
            .help_heading("Options of single subsystems")
    })
}

impl<const OF_RECORD: bool> clap::Args for SourceArguments<OF_RECORD> {
    fn augment_args(command: Command) -> Command {
        command.args(arguments(OF_RECORD))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const OF_RECORD: bool> clap::FromArgMatches for SourceArguments<OF_RECORD> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self::from_texts(|name| matches.get_one(name).cloned()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_of_subsystems_that_are_not_shown_are_noted() {
        let given = ShownSourceArguments::of(&[("cpuopts", "z"), ("dskfilt", "sda")]);
        assert!(given.idle(&"Cd".into()).is_empty());
        let noted = ["--cpuopts is for -sC and changes nothing here"];
        assert_eq!(given.idle(&"cD".into()), noted);
        assert_eq!(given.idle(&"n".into()).len(), 2);
        assert!(given.idle(&",cpu_core,DISK".into()).is_empty());
        let given = ShownSourceArguments::of(&[("procstate", "R"), ("procopts", "w")]);
        assert!(given.check(&"c".into(), "").is_ok() && given.idle(&"Z".into()).is_empty());
        assert_eq!(given.idle(&"c".into())[0], "--procopts is for -sZ and changes nothing here");
    }

    #[test]
    fn what_has_no_effect_is_refused_where_collectl_refuses_it() {
        for (option, text, without, with, why) in [
            ("netopts", "e", "c", "n", "--netopts is for interfaces: -sn and -sN"),
            ("netopts", "w8", "n", "N", "--netopts w is for -sN"),
            ("tcpfilt", "i", "c", "T", "--tcpfilt is for the TCP/IP stack: -st and -sT"),
            ("dskopts", "p", "d", "D", "--dskopts f, p and z are for -sD"),
        ] {
            let given = ShownSourceArguments::of(&[(option, text)]);
            assert_eq!(given.check(&without.into(), "").unwrap_err().to_string(), why);
            assert!(given.check(&with.into(), "").is_ok(), "{option}");
        }
        assert!(ShownSourceArguments::of(&[("dskopts", "i")]).check(&"d".into(), "").is_ok());
    }

    #[test]
    fn letters_force_lines_and_need_other_sources() {
        assert!(ShownSourceArguments::of(&[("memopts", "p")]).forces_verbose());
        assert!(ShownSourceArguments::of(&[("tcpfilt", "iI")]).forces_verbose());
        assert!(!ShownSourceArguments::of(&[("memopts", "R"), ("tcpfilt", "i")]).forces_verbose());
        let given = ShownSourceArguments::of(&[("cpufilt", "0")]);
        assert_eq!(given.read_with(&"cd".into()).to_string(), "cdC");
        assert_eq!(given.read_with(&"d".into()).to_string(), "d");
    }

    #[test]
    fn recordings_say_what_was_not_given() {
        let mut meta = Meta::new();
        meta.set("tcpfilt", "iI");
        let (_, filter) = source::options().find(|(_, option)| option.name == "tcpfilt").unwrap();
        let given = ShownSourceArguments::of(&[("tcpfilt", "t")]);
        let options = Options { of_sources: given.values().unwrap(), ..Options::default() };
        for (arguments, mut options, text) in
            [(given, options, "t"), (SourceArguments::default(), Options::default(), "iI")]
        {
            arguments.set_recorded(&meta, &mut options, false);
            assert_eq!(options.value(filter).text(), text);
            assert_eq!(options.verbose, text == "iI");
        }
    }
}
