//! The switches that choose a format: one for each view of values for programs, `--export` and the
//! exports that have a switch of their own.  They are made from the registries of `view`, which
//! alone know the formats by name.

use clap::{Arg, ArgAction, ArgMatches, Command};
use view::export::{ExportEntry, ExportSubsystems};
use view::{ViewClass, ViewEntry};

/// What was chosen.  `PLOT` is for verbs that show a machine: they have plot format and the exports
/// of their own switch, too.
#[derive(Debug, Default)]
pub(crate) struct FormatArguments<const PLOT: bool = true> {
    /// A view of values for programs.
    pub(crate) view: Option<&'static ViewEntry>,
    /// `--fields`: names of fields, for such a view.
    pub(crate) fields: Vec<String>,
    /// `--export`: a name and options, commas between.
    export: Option<String>,
    /// An export that was chosen by its own switch.
    export_switch: Option<&'static ExportEntry>,
}

impl FormatArguments<false> {
    /// The arguments among all formats.
    pub(crate) fn among_all(&self) -> FormatArguments {
        FormatArguments {
            view: self.view,
            fields: self.fields.clone(),
            export: self.export.clone(),
            export_switch: None,
        }
    }
}

impl<const PLOT: bool> FormatArguments<PLOT> {
    /// As if the view of that name were chosen.
    #[cfg(test)]
    pub(crate) fn of(name: &str) -> Self {
        FormatArguments { view: view::find(name), ..Self::default() }
    }

    /// The export's name and its options.
    pub(crate) fn export(&self) -> Option<(&str, Vec<&str>)> {
        if let Some(entry) = self.export_switch {
            return Some((entry.name, Vec::new()));
        }
        let mut parts = self.export.as_deref()?.split(',');
        Some((parts.next().unwrap_or_default(), parts.collect()))
    }

    /// The subsystems that the export shows, with its name.
    pub(crate) fn export_subsystems(&self) -> Option<(&'static str, ExportSubsystems)> {
        let (name, _) = self.export()?;
        view::export::find(name).map(|entry| (entry.name, entry.subsystems))
    }

    /// Whether the export was named by `--export` itself.
    pub(crate) fn names_export(&self) -> bool {
        self.export.is_some()
    }

    /// Whether a view or an export is chosen.
    pub(crate) fn is_set(&self) -> bool {
        self.view.is_some() || self.export().is_some()
    }
}

/// The views that have a switch.
fn switched_views() -> impl Iterator<Item = &'static ViewEntry> {
    view::ALL.iter().copied().filter(|entry| entry.class == ViewClass::Values)
}

/// The exports that have a switch.
fn switched_exports() -> impl Iterator<Item = &'static ExportEntry> {
    view::export::ALL.iter().filter(|entry| entry.has_switch)
}

/// The switches of the views that `asked` holds for, `last` before the last one: `--a, --b and --c`.
pub(crate) fn switches(last: &str, asked: impl Fn(&ViewEntry) -> bool) -> String {
    let views = switched_views().filter(|entry| asked(entry));
    joined(views.map(|entry| format!("--{}", entry.name)), last)
}

/// Words with commas between them, and `last` before the last one: `a`, `a and b`, `a, b and c`.
pub(super) fn joined(words: impl Iterator<Item = impl std::fmt::Display>, last: &str) -> String {
    let words: Vec<String> = words.map(|word| word.to_string()).collect();
    match words.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{}{last} {end}", rest.join(", ")),
        _ => words.concat(),
    }
}

fn arguments(has_plot: bool) -> Vec<Arg> {
    let mut all = vec![Arg::new("export").long("export").value_name("NAME,OPTIONS").help(format!(
        "Another program's format: {}, with its options",
        view::export::list_names("or")
    ))];
    for entry in switched_exports().filter(|_| has_plot) {
        all.push(
            Arg::new(entry.name)
                .long(entry.name)
                .action(ArgAction::SetTrue)
                .conflicts_with("export")
                .help(format!("As --export {}", entry.name)),
        );
    }
    for entry in switched_views() {
        let others = switched_views().filter(|other| other.name != entry.name);
        all.push(
            Arg::new(entry.name)
                .long(entry.name)
                .action(ArgAction::SetTrue)
                .conflicts_with("export")
                .conflicts_with_all(has_plot.then_some("plot"))
                .conflicts_with_all(
                    switched_exports().filter(|_| has_plot).map(|export| export.name),
                )
                .conflicts_with_all(others.map(|other| other.name))
                .conflicts_with_all(entry.conflicts.iter().copied())
                .help(entry.about),
        );
    }
    all.push(
        Arg::new("fields")
            .long("fields")
            .value_name("NAME,…")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .help(format!(
                "Only these fields (cpu.user, disk.reads, …), for {}",
                switches(" and", |_| true)
            )),
    );
    all
}

impl<const PLOT: bool> clap::Args for FormatArguments<PLOT> {
    fn augment_args(command: Command) -> Command {
        command.args(arguments(PLOT))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const PLOT: bool> clap::FromArgMatches for FormatArguments<PLOT> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut chosen = Self::default();
        chosen.update_from_arg_matches(matches)?;
        Ok(chosen)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.view = switched_views().find(|entry| matches.get_flag(entry.name));
        self.export_switch =
            switched_exports().filter(|_| PLOT).find(|entry| matches.get_flag(entry.name));
        self.export = matches.get_one("export").cloned();
        self.fields = matches.get_many("fields").into_iter().flatten().cloned().collect();
        Ok(())
    }
}
