//! How to show samples: the switches that `record` and `play` share, and their translation into
//! [`layout::Options`].
//!
//! The letters and their rules are collectl's (`collectl(1)`), with whit's own beside them.  What
//! collectl refuses is refused here too, by name: no switch is read and then forgotten.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use layout::{Layout, LayoutLookup, Options, Selection};
use sample::Level;
use source::Entry;
use view::export::ExportSubsystems;
use view::{
    Groups, HeadingLines, HeadingsOnly, Setup, SpreadTable, TableForm, TopList, View, ViewClass,
    ViewEntry,
};

pub(crate) use formats::{FormatArguments, switches};
#[cfg(test)]
pub(crate) use letters::known_letters;
pub(crate) use letters::{merge, named};
pub(crate) use source_options::{RecordSourceArguments, ShownSourceArguments};

mod formats;
mod letters;
pub(crate) mod lists;
mod source_options;
mod table;

/// What `-s` means when it is not given and samples are shown live.
pub(crate) const LIVE_SUBSYSTEMS: &str = "cdn";

/// What `-s` means when it is not given and samples are recorded (collectl's daemon set).
pub(crate) const RECORDED_SUBSYSTEMS: &str = "bcdfijmnstx";

/// Letters that are known but that no source serves, and why.
const REFUSED: &[(char, &str)] = &[
    ('l', "Lustre (l, L) is not supported; collectl itself has it switched off since 4.3.0"),
    ('L', "Lustre (l, L) is not supported; collectl itself has it switched off since 4.3.0"),
];

/// Letters of `-o` that collectl has and whit has not, and why.
const REFUSED_OPTIONS: &[(char, &str)] = &[('A', "whit play has --stats with --statopts a")];

/// Switches about what is shown and how; the same for `record` and `play`.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "What to show, and how")]
pub(crate) struct DisplayArguments {
    /// Subsystems, a letter each; +LETTERS and -LETTERS add to and take from the default
    #[arg(short = 's', long = "subsys", value_name = "LETTERS", allow_hyphen_values = true)]
    pub(crate) subsystems: Option<String>,

    /// Every summary subsystem but k, which slows every system call of the machine, and o, which
    /// only whit run records
    #[arg(long, conflicts_with = "subsystems")]
    pub(crate) all: bool,

    /// Every summary and every detail subsystem but k, K and o
    #[arg(long = "ALL", conflicts_with_all = ["subsystems", "all"])]
    pub(crate) all_detail: bool,

    /// Letters: T time, d or D date and time before each line, m milliseconds, U seconds since the
    /// epoch; g G more digits of big numbers; n changes instead of rates per second; with -P: 1 2
    /// decimals, i a header block before the lines on the screen, a append, c create anew, u unique names of plot files, z no gzip; with -sD: x only
    /// exceptions (see -l), X plot files of all and of exceptions
    #[arg(short = 'o', long = "options", value_name = "LETTERS")]
    pub(crate) letters: Option<String>,

    /// A block of lines for each subsystem instead of one line for all
    #[arg(long)]
    pub(crate) verbose: bool,

    /// Like --verbose, with a record line before each interval
    #[arg(long)]
    pub(crate) full: bool,

    /// Plot format: one line of plain numbers for each interval
    #[arg(short = 'P', long = "plot")]
    pub(crate) plot: bool,

    /// What stands between plot columns: a character, or its code (9 for a tab)
    #[arg(long = "sep", value_name = "C", requires = "plot")]
    pub(crate) separator: Option<String>,

    /// Times as seconds since the epoch, in plot format and CSV
    #[arg(long)]
    pub(crate) utc: bool,

    /// Average transfer sizes in brief mode
    #[arg(long)]
    pub(crate) iosize: bool,

    /// Wide columns: numbers are never scaled to K, M, G
    #[arg(short = 'w')]
    pub(crate) wide: bool,

    /// Lines between headers; 0 one header, -1 none
    #[arg(
        long = "hr",
        visible_alias = "headerrepeat",
        value_name = "N",
        allow_hyphen_values = true
    )]
    pub(crate) header_repeat: Option<i64>,

    /// Each interval at the top of the screen
    #[arg(long)]
    pub(crate) home: bool,

    /// Only the column headings
    #[arg(long)]
    pub(crate) showcolheaders: bool,

    /// collectl's digits even where collectl is wrong
    #[arg(long)]
    pub(crate) exact: bool,

    #[command(flatten)]
    pub(crate) formats: FormatArguments,

    #[command(flatten)]
    pub(crate) lists: lists::ListArguments,

    #[command(flatten)]
    pub(crate) sources: ShownSourceArguments,
}

impl DisplayArguments {
    /// The letters to show, given those that are shown without `-s`.
    pub(crate) fn selection(&self, default: &Selection) -> anyhow::Result<Selection> {
        if let Some((name, ExportSubsystems::Fixed { letters, about })) =
            self.formats.export_subsystems()
        {
            let chosen = self.subsystems.is_some() || self.all || self.all_detail;
            ensure!(!chosen, "{name} shows {about}, whatever -s says: leave -s out");
            return Ok(letters.into());
        }
        if let Some(listed) = self.listed(default)? {
            return Ok(listed);
        }
        let preferred = self.preferred()?;
        let default = preferred.as_ref().unwrap_or(default);
        if self.all || self.all_detail {
            return Ok(letters::everything(self.all_detail));
        }
        match self.subsystems.as_deref() {
            None => Ok(default.clone()),
            Some(asked) => merge(default, asked),
        }
    }

    /// What an export shows without `-s`: what its table names, or letters of its own.
    fn preferred(&self) -> anyhow::Result<Option<Selection>> {
        let Some((_, ExportSubsystems::Preferred(letters))) = self.formats.export_subsystems()
        else {
            return Ok(None);
        };
        let options = self.formats.export().map(|(_, options)| options).unwrap_or_default();
        match options.iter().find_map(|option| option.strip_prefix("table=")) {
            Some(table) => table::sources_of_table(Path::new(table), letters).map(Some),
            None => Ok(Some(letters.into())),
        }
    }

    /// Whether `--all` or `--ALL` asks for every subsystem.
    pub(crate) fn is_everything(&self) -> bool {
        self.all || self.all_detail
    }

    /// Everything else, checked: what [`layout::Options`] holds.
    pub(crate) fn options(&self, subsystems: Selection) -> anyhow::Result<Options> {
        self.check(&subsystems)?;
        let letters = self.letters.clone().unwrap_or_default();
        let verbose = self.forces_verbose(&subsystems);
        Ok(Options {
            layouts: LayoutLookup(source::layouts_of),
            verbose,
            subsystems,
            iosize: self.iosize,
            wide: self.wide,
            exact: self.exact,
            header_repeat: self.header_repeat,
            home: self.home,
            full: self.full,
            utc: self.utc || letters.contains('U'),
            separator: self.separator()?,
            terminal_columns: terminal_columns(),
            whole_sections: !crate::compat::is_called("collectl"),
            fields: self.formats.fields.clone(),
            of_sources: self.sources.values()?,
            letters,
            ..Options::default()
        })
    }

    /// Whether the letters, or other switches, cannot be shown on one line.
    pub(crate) fn forces_verbose(&self, subsystems: &Selection) -> bool {
        self.verbose || self.full || needs_lines(subsystems) || self.sources.forces_verbose()
    }

    /// Whether any switch chooses a format other than collectl's own lines.
    pub(crate) fn is_machine_format(&self) -> bool {
        self.formats.is_set()
    }

    /// Whether the format says itself which sources a machine lacks.
    pub(crate) fn shows_states(&self) -> bool {
        self.formats.view.is_some_and(|entry| entry.shows_states)
    }

    /// Whether the format is of values for programs, which knows no layouts.
    pub(crate) fn shows_values(&self) -> bool {
        self.formats.view.is_some_and(|entry| entry.class == ViewClass::Values)
    }

    /// Opens the view that the switches ask for, or its headings; `None` when that was an export's help.
    pub(crate) fn open_view(
        &self,
        options: &Options,
        setup: &Setup,
        setting: &view::export::Setting,
    ) -> anyhow::Result<Option<Box<dyn View>>> {
        Ok(match self.open_whole_view(options, setup, setting)? {
            Some(view) if self.showcolheaders => {
                let lines = self.view(options.verbose)?.headings;
                Some(Box::new(HeadingsOnly::new(view, lines)))
            }
            view => view,
        })
    }

    /// Opens the view that the switches ask for; `None` when that was an export's help.
    fn open_whole_view(
        &self,
        options: &Options,
        setup: &Setup,
        setting: &view::export::Setting,
    ) -> anyhow::Result<Option<Box<dyn View>>> {
        if !options.by.is_empty() {
            return Ok(Some(Box::new(Groups::new(self.table_form(), setup.zone.clone()))));
        }
        if options.list.is_some() {
            return Ok(Some(Box::new(TopList::new(setup.zone.clone()))));
        }
        if let Some((name, parts)) = self.formats.export() {
            return crate::export::open(name, &parts, setup, setting);
        }
        if options.spread && self.formats.view.is_none() {
            return Ok(Some(Box::new(SpreadTable::new(setup.zone.clone()))));
        }
        let entry = self.view(options.verbose)?;
        let lines = matches!(entry.class, ViewClass::Lines | ViewClass::Blocks);
        if lines && let Some(asked) = self.subsystems.as_deref() {
            check_lines(&named(asked))?;
        }
        Ok(Some((entry.open)(setup)))
    }

    /// The view that the switches ask for, or that of lines or `verbose` blocks.
    pub(crate) fn view(&self, verbose: bool) -> anyhow::Result<&'static ViewEntry> {
        if let Some(entry) = self.formats.view {
            return Ok(entry);
        }
        let class = match (self.plot, verbose) {
            (true, _) => ViewClass::Columns,
            (false, true) => ViewClass::Blocks,
            (false, false) => ViewClass::Lines,
        };
        view::of_class(class).context("there is no view of this kind")
    }

    /// How `--by` and `--diff` write their tables.
    pub(crate) fn table_form(&self) -> TableForm {
        self.formats.view.and_then(|entry| entry.table).unwrap_or(TableForm::Text)
    }

    /// `--sep`: a character, or the code of one.
    fn separator(&self) -> anyhow::Result<String> {
        let Some(given) = self.separator.as_deref() else { return Ok(" ".to_owned()) };
        ensure!(given != "%", "--sep: '%' cannot separate columns");
        if let Ok(code) = given.parse::<u8>() {
            return Ok(char::from(code).to_string());
        }
        ensure!(given.chars().count() == 1, "--sep: '{given}' is neither one character nor a code");
        Ok(given.to_owned())
    }

    /// Refuses what makes no sense, as collectl does.
    fn check(&self, subsystems: &Selection) -> anyhow::Result<()> {
        let letters = self.letters.as_deref().unwrap_or_default();
        let refused = REFUSED_OPTIONS.iter().find(|(letter, _)| letters.contains(*letter));
        if let Some((letter, why)) = refused {
            bail!("-o{letter} is not a switch of whit: {why}");
        }
        only("-o", letters, "12acdDGgimnTuUxXz")?;
        if letters.contains(['x', 'X']) {
            check_exceptions(subsystems)?;
        }
        let values = self.formats.view;
        if values.is_some()
            && let Some(name) = self.lines_only()
        {
            let all = switches(" and", |_| true);
            bail!("{name} changes nothing in {all}: leave it out");
        }
        ensure!(
            self.formats.fields.is_empty() || values.is_some(),
            "--fields is for {}; -s chooses what the others show",
            switches(" and", |_| true)
        );
        let time_letters = letters.chars().filter(|letter| "dDT".contains(*letter)).count();
        ensure!(time_letters <= 1, "-o: only one of d, D and T");
        ensure!(!(letters.contains('a') && letters.contains(['c', 'u'])), "-o: a excludes c and u");
        let utc = self.utc || letters.contains('U');
        let takes_utc = self.plot || values.is_some_and(|entry| entry.takes_utc);
        ensure!(
            !utc || takes_utc,
            "--utc and -oU are for plot format (-P) and {}",
            switches(" and", |entry| entry.takes_utc)
        );
        ensure!(!utc || time_letters == 0, "--utc cannot go with -o d, D or T");
        if !self.plot
            && let Some(letter) = letters.chars().find(|letter| "12aciuz".contains(*letter))
        {
            bail!("-o{letter} is for plot format (-P)");
        }
        ensure!(!(self.plot && (self.verbose || self.full)), "-P cannot go with --verbose");
        let exports = self.formats.export().is_some();
        ensure!(!(exports && (self.verbose || self.full)), "--export cannot go with --verbose");
        let headings = values.is_none_or(|entry| entry.headings != HeadingLines::None);
        ensure!(
            !self.showcolheaders || headings && !exports,
            "--showcolheaders: that format has no column headings"
        );
        ensure!(self.header_repeat.is_none_or(|repeat| repeat >= -1), "--hr must be at least -1");
        self.check_lists()?;
        self.sources.check(subsystems, letters)
    }

    /// A sentence for each switch of a subsystem that is not shown.
    pub(crate) fn idle_switches(&self, subsystems: &Selection) -> Vec<String> {
        self.sources.idle(subsystems)
    }

    /// Rejects letters of `-o` where they have no effect: exceptions go to plot files and to the
    /// screen; plot files always have header blocks.
    pub(crate) fn check_places(&self, files: bool) -> anyhow::Result<()> {
        let letters = self.letters.as_deref().unwrap_or_default();
        ensure!(
            !letters.contains('i') || !files,
            "-oi is for the screen: plot files begin with the header block anyway"
        );
        let plot_files = files && self.plot;
        let screen = !files && !self.plot && !self.is_machine_format();
        ensure!(!letters.contains('X') || plot_files, "-oX is for plot files: -P and -f");
        ensure!(
            !letters.contains('x') || plot_files || screen,
            "-ox is for the screen, or for plot files: -P and -f"
        );
        Ok(())
    }

    /// A switch that is given and only changes how lines for people look.
    fn lines_only(&self) -> Option<String> {
        let given = [
            (self.verbose, "--verbose"),
            (self.full, "--full"),
            (self.iosize, "--iosize"),
            (self.wide, "-w"),
            (self.header_repeat.is_some(), "--hr"),
            (self.home, "--home"),
            (self.separator.is_some(), "--sep"),
        ];
        if let Some((_, name)) = given.iter().find(|(given, _)| *given) {
            return Some((*name).to_owned());
        }
        let letters = self.letters.as_deref().unwrap_or_default();
        letters
            .chars()
            .find(|letter| "dDTmgGxX".contains(*letter))
            .map(|letter| format!("-o{letter}"))
    }
}

/// Fails unless every letter of `given` is one of `known`.
fn only(option: &str, given: &str, known: &str) -> anyhow::Result<()> {
    match given.chars().find(|letter| !known.contains(*letter)) {
        Some(letter) => bail!("{option} {given}: unknown letter '{letter}'; known are {known}"),
        None => Ok(()),
    }
}

/// The terminal's width, if standard output is one.
pub(crate) fn terminal_columns() -> Option<usize> {
    if !terminal::shows(&std::io::stdout()) {
        return None;
    }
    let size = terminal_size::terminal_size();
    terminal::pager_columns().or(Some(size.map_or(80, |(width, _)| usize::from(width.0))))
}

/// Whether the person wants no colours: `NO_COLOR` is not empty (<https://no-color.org>).
pub(crate) fn is_without_colors() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Whether a source that a letter stands for is shown at the letter's level.
fn is_shown(selection: &Selection, letter: char) -> bool {
    let level = Level::of_letter(letter);
    let serves = |entry: &&&Entry| entry.letters.contains(letter);
    source::ALL.iter().filter(serves).any(|entry| selection.asks(&entry.def(), level))
}

/// Whether a selection cannot be shown on one line: instances, and summaries that have no place on
/// it.
fn needs_lines(selection: &Selection) -> bool {
    let needs = |entry: &&Entry| {
        let def = entry.def();
        let brief = entry.layouts.iter().find(|layout| layout.level == Level::Summary);
        let no_place = brief.is_some_and(|layout| layout.brief.is_empty());
        selection.asks(&def, Level::Detail) || no_place && selection.asks(&def, Level::Summary)
    };
    source::ALL.iter().any(needs)
}

/// Removes from a selection what cannot be shown on one line, and returns it.
pub(crate) fn take_off_the_line(selection: &mut Selection) -> Selection {
    let (mut kept, mut taken) = (Selection::default(), Selection::default());
    for letter in selection.letters().chars() {
        let mut one = Selection::default();
        one.push_letter(letter);
        if needs_lines(&one) { &mut taken } else { &mut kept }.push_letter(letter);
    }
    for name in selection.names() {
        let mut one = Selection::default();
        one.push_name(name);
        if needs_lines(&one) { &mut taken } else { &mut kept }.push_name(name);
    }
    *selection = kept;
    taken
}

/// Refuses `-ox` and `-oX` where nothing that is shown has exceptions.
fn check_exceptions(subsystems: &Selection) -> anyhow::Result<()> {
    let of = |(entry, layout): (&Entry, &'static Layout)| {
        Some((layout.exceptions.as_ref()?.among, switch_of(entry, layout.level)))
    };
    let is_asked = |(entry, layout): &(&Entry, &Layout)| {
        layout.exceptions.is_some() && subsystems.asks(&entry.def(), layout.level)
    };
    if lists::layouts().any(|one| is_asked(&one)) {
        return Ok(());
    }
    let known = lists::layouts().filter_map(of).map(|(among, switch)| format!("{among}: {switch}"));
    bail!("-ox and -oX are for {}", known.collect::<Vec<_>>().join("; "))
}

/// Refuses what was named and has columns for plot files but no lines.  Among all that a recording
/// has it does no harm.
fn check_lines(named: &Selection) -> anyhow::Result<()> {
    let has_none = |(entry, layout): &(&Entry, &Layout)| {
        let lines = layout.brief.len() + layout.verbose.len();
        lines == 0 && layout.plot.is_some() && named.asks(&entry.def(), layout.level)
    };
    let Some((entry, layout)) = lists::layouts().find(has_none) else { return Ok(()) };
    let name = match entry.letter(layout.level) {
        Some(letter) => letter.to_string(),
        None => entry.name.to_ascii_uppercase(),
    };
    let summary = entry.def().levels().any(|level| level == Level::Summary);
    let summary = match summary && layout.level == Level::Detail {
        true => format!("{} --verbose, ", switch_of(entry, Level::Summary)),
        false => String::new(),
    };
    bail!(
        "-s {name}: there are no lines of it for the screen: use {summary}-P, {} or -f",
        switches(",", |entry| entry.table.is_some())
    )
}

/// The switch that shows a source at a level: `-sd`, `-s softirq`.
fn switch_of(entry: &Entry, level: Level) -> String {
    match (entry.letter(level), level) {
        (Some(letter), _) => format!("-s{letter}"),
        (None, Level::Summary) => format!("-s {}", entry.name),
        (None, Level::Detail) => format!("-s {}", entry.name.to_ascii_uppercase()),
    }
}

/// The sources that a selection asks for, in the registry's order.
pub(crate) fn sources_for(selection: &Selection) -> Vec<&'static Entry> {
    source::ALL.iter().copied().filter(|entry| entry.asked_by(selection)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_collectl_refuses_is_refused() {
        let options = |arguments: DisplayArguments| arguments.options("cdn".into());
        let letters = |letters: &str, plot| DisplayArguments {
            letters: Some(letters.to_owned()),
            plot,
            ..DisplayArguments::default()
        };
        assert!(options(letters("q", false)).is_err());
        assert!(options(letters("dT", false)).is_err());
        assert!(options(letters("1", false)).is_err());
        assert!(options(letters("i", false)).is_err());
        assert!(options(letters("i", true)).is_ok());
        assert!(letters("i", true).check_places(true).is_err());
        assert!(letters("i", true).check_places(false).is_ok());
        assert!(options(letters("ac", true)).is_err());
        assert!(options(letters("U", false)).is_err());
        for (letter, why) in REFUSED_OPTIONS {
            for plot in [false, true] {
                let refused = options(letters(&letter.to_string(), plot)).unwrap_err().to_string();
                assert!(refused.contains(why), "{refused}");
            }
        }
        let time = DisplayArguments {
            letters: Some("T".to_owned()),
            formats: FormatArguments::of("json"),
            ..DisplayArguments::default()
        };
        assert!(options(time).unwrap_err().to_string().starts_with("-oT changes nothing"));
        let lines = DisplayArguments {
            verbose: true,
            formats: FormatArguments::of("csv"),
            ..DisplayArguments::default()
        };
        assert!(options(lines).unwrap_err().to_string().starts_with("--verbose changes nothing"));
        let named = |view: &str| {
            let mut formats = FormatArguments::of(view);
            formats.fields = vec!["cpu.user".to_owned()];
            DisplayArguments { formats, ..DisplayArguments::default() }
        };
        assert!(options(named("")).unwrap_err().to_string().contains("--fields is for"));
        assert!(options(named("csv")).is_ok());
        let plain = options(letters("T", false)).unwrap();
        assert!(plain.has('T') && !plain.verbose && plain.separator == " ");
        let separated = DisplayArguments {
            separator: Some("9".to_owned()),
            plot: true,
            ..DisplayArguments::default()
        };
        assert_eq!(options(separated).unwrap().separator, "\t");
    }
}
