//! `--top`, `--by` and what they need of the terminal: which list is shown, by what it is sorted
//! and how long it is.  What there is to sort by is data of the sources.

use anyhow::{bail, ensure};
use layout::{Layout, List, Options, Rank, Role, Selection};
use source::Entry;
use view::export::ExportSubsystems;

use super::DisplayArguments;

/// Lines of a list that is not on a terminal: live (a terminal of 24) and in playback.
const LIVE_LINES: usize = 22;
const PLAYED_LINES: usize = 10;

/// Lines of other subsystems above a list, unless `--hr` says otherwise; collectl's.
const LINES_ABOVE: i64 = 5;

/// The switches.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct ListArguments {
    /// Processes or slabs sorted by TYPE [time], the first N; v: one list below the other;
    /// --showtopopts has the types
    #[arg(long, value_name = "TYPE,N,v", num_args = 0..=1, default_missing_value = "")]
    pub(crate) top: Option<String>,

    /// What --top can sort by
    #[arg(long)]
    pub(crate) showtopopts: bool,

    /// Processes by command, user or cgroup: a line for each, ended ones included; --top sorts
    /// and cuts, --csv and --json write them for machines
    #[arg(long, value_name = "WHAT")]
    pub(crate) by: Option<String>,
}

/// `--top`, taken apart.
struct TopOption<'a> {
    order: &'a str,
    count: Option<usize>,
    vertical: bool,
}

impl ListArguments {
    fn asked(&self) -> anyhow::Result<Option<TopOption<'_>>> {
        let Some(given) = self.top.as_deref() else { return Ok(None) };
        let mut parts = given.split(',');
        let order = match parts.next().unwrap_or_default() {
            "" if self.by.is_none() => "time",
            order => order,
        };
        let count = match parts.next() {
            None | Some("" | "-1") => None,
            Some(count) => match count.parse() {
                Ok(0) | Err(_) => bail!("--top {given}: '{count}' is no number of lines"),
                Ok(count) => Some(count),
            },
        };
        let vertical = match parts.next() {
            None | Some("") => false,
            Some("v") => true,
            Some(other) => bail!("--top {given}: '{other}' is not 'v', the only third part"),
        };
        ensure!(parts.next().is_none(), "--top {given}: at most TYPE,N,v");
        Ok(Some(TopOption { order, count, vertical }))
    }

    /// Whether `--top` or `--by` is given.
    pub(crate) fn is_set(&self) -> bool {
        self.top.is_some() || self.by.is_some()
    }

    /// The letter of the source that is listed.
    fn letter(&self) -> anyhow::Result<Option<char>> {
        if self.by.is_some() {
            return Ok(account_letter());
        }
        let Some(TopOption { order, .. }) = self.asked()? else { return Ok(None) };
        let found =
            layouts().find(|(_, layout)| ranks(layout).iter().any(|rank| rank.name == order));
        match found {
            Some((entry, layout)) => Ok(entry.letter(layout.level)),
            None => bail!("--top {order}: nothing is sorted by that; see --showtopopts"),
        }
    }
}

/// The letter of what can be added up.
fn account_letter() -> Option<char> {
    let of = |(_, layout): &(&Entry, &Layout)| {
        layout.account.is_some_and(|one| one.role == Role::Living)
    };
    layouts().find(of).and_then(|(entry, layout)| entry.letter(layout.level))
}

/// Every layout of every source.
pub(super) fn layouts() -> impl Iterator<Item = (&'static Entry, &'static Layout)> {
    let of = |entry: &'static Entry| entry.layouts.iter().map(move |layout| (entry, layout));
    source::ALL.iter().copied().flat_map(of)
}

fn ranks(layout: &Layout) -> &'static [Rank] {
    layout.top.map_or(&[], |top| top.ranks)
}

impl DisplayArguments {
    /// What `--top`, `--by` or `--export proctree` show; `None` without them.
    pub(super) fn listed(&self, default: &Selection) -> anyhow::Result<Option<Selection>> {
        let tree = self.exported_processes();
        let letter = if tree.is_some() { account_letter() } else { self.lists.letter()? };
        let Some(letter) = letter else { return Ok(None) };
        let alone = tree.is_some() || self.lists.by.is_some();
        let chosen = self.subsystems.is_some() || self.all || self.all_detail;
        ensure!(
            !(alone && chosen),
            "{} shows processes, whatever -s says: leave -s out",
            tree.unwrap_or("--by")
        );
        ensure!(!self.all && !self.all_detail, "--top: choose other subsystems by -s");
        let mut others = match self.subsystems.as_deref() {
            None => Selection::default(),
            Some(asked) => super::merge(default, asked)?,
        };
        let kinds = layouts().filter(|(_, layout)| layout.top.is_some());
        let kinds = kinds.filter_map(|(entry, layout)| entry.letter(layout.level));
        let mut kinds = kinds.filter(|other| *other != letter);
        ensure!(
            !kinds.any(|other| others.has(other)),
            "--top: one kind of list at a time; take the other out of -s"
        );
        others.retain_letters(|other| other != letter);
        others.push_letter(letter);
        Ok(Some(others))
    }

    /// Whether instances are listed, grouped or put into a tree: at every interval.
    pub(crate) fn lists_instances(&self) -> bool {
        self.lists.is_set() || self.exported_processes().is_some()
    }

    /// The export of processes that is asked for.
    fn exported_processes(&self) -> Option<&'static str> {
        let (name, subsystems) = self.formats.export_subsystems()?;
        (subsystems == ExportSubsystems::Processes).then_some(name)
    }

    /// Refuses what does not go with a list.
    pub(super) fn check_lists(&self) -> anyhow::Result<()> {
        let asked = self.lists.asked()?;
        if self.lists.top.is_none() {
            self.sources.check_no_list()?;
        }
        let name = match (&self.lists.by, &asked) {
            (Some(_), _) => "--by",
            (None, Some(_)) => "--top",
            (None, None) => return Ok(()),
        };
        let export = self.formats.export().is_some();
        ensure!(!self.plot && !export, "{name} goes with neither -P nor --export");
        if let Some(view) = self.formats.view {
            let tables = super::switches(" and", |entry| entry.table.is_some());
            ensure!(name == "--by", "--top makes lines; --by has {tables}");
            ensure!(view.table.is_some(), "--by has {tables}, not --{}", view.name);
        }
        ensure!(self.formats.fields.is_empty(), "--fields does not go with {name}");
        ensure!(name == "--top" || !(self.verbose || self.full), "--by has one form of lines only");
        self.sources.check_list(name, name == "--by")?;
        if let Some(asked) = asked {
            ensure!(
                !asked.vertical || self.subsystems.is_none() && self.lists.by.is_none(),
                "--top TYPE,N,v shows nothing else: leave -s and --by out"
            );
        }
        Ok(())
    }

    /// Completes the options of a list: `playing` or live, `sending` its lines to a socket.
    pub(crate) fn settle_list(
        &self,
        options: &mut Options,
        playing: bool,
        sending: bool,
    ) -> anyhow::Result<()> {
        options.by = self.lists.by.clone().unwrap_or_default();
        let Some(asked) = self.lists.asked()? else { return Ok(()) };
        if self.lists.by.is_some() {
            let (order, count) = (asked.order.to_owned(), asked.count.unwrap_or(usize::MAX));
            options.list = Some(List { order, count, scroll_end: None, records: false });
            return Ok(());
        }
        // As collectl: the columns that it sorts by are shown.
        let mut all = layouts().flat_map(|(_, layout)| ranks(layout));
        let rank = all.find(|rank| rank.name == asked.order);
        if let Some((option, letter)) = rank.and_then(|rank| rank.shown_by) {
            options.of_sources.add_letter(option, letter);
        }
        let letter = self.lists.letter()?.unwrap_or(' ');
        let mut others = options.subsystems.clone();
        others.retain_letters(|other| other != letter);
        if !playing {
            options.verbose = self.forces_verbose(&others);
        }
        let rows = (!playing && !sending && !asked.vertical).then(terminal_rows).flatten();
        let scroll_end = rows.map(|_| scroll_end(&others, self.header_repeat, options.verbose));
        let count = match (asked.count, rows) {
            (Some(count), _) => count,
            (None, Some(rows)) => rows.saturating_sub(scroll_end.unwrap_or(0) + 2),
            (None, None) if playing => PLAYED_LINES,
            (None, None) => LIVE_LINES,
        };
        ensure!(count > 0, "--top: the terminal has too few lines");
        let order = asked.order.to_owned();
        let records = playing || !others.is_empty();
        options.list = Some(List { order, count, scroll_end, records });
        Ok(())
    }
}

/// The last line of the area in which other subsystems scroll, as collectl lays it out.
fn scroll_end(others: &Selection, header_repeat: Option<i64>, verbose: bool) -> usize {
    if others.is_empty() {
        return 0;
    }
    let lines = usize::try_from(header_repeat.unwrap_or(LINES_ABOVE)).unwrap_or(0);
    let is_detail = |text: &str| text.contains(|letter: char| letter.is_ascii_uppercase());
    let has_detail = is_detail(&others.to_string());
    let count = others.len();
    let size = match () {
        () if !verbose || count == 1 => lines + 2,
        () if has_detail => lines,
        () => 3 * count + usize::from(others.has('m')),
    };
    size + 1
}

/// The terminal's height, if standard output is one.
fn terminal_rows() -> Option<usize> {
    use std::io::IsTerminal;
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let size = terminal_size::terminal_size();
    Some(size.map_or(24, |(_, height)| usize::from(height.0)))
}

/// `--showtopopts`.
pub(crate) fn sort_types() -> String {
    let mut text = String::from(
        "--top TYPE,N,v sorts by TYPE [time] and shows the first N; with v one list stands below \
         the other.\n",
    );
    let mut kind = "";
    for rank in layouts().flat_map(|(_, layout)| ranks(layout)) {
        if rank.kind != kind {
            kind = rank.kind;
            text.push_str(&format!("\n{kind}\n"));
        }
        text.push_str(&format!("  {:<8} {}\n", rank.name, rank.about));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::display::FormatArguments;

    fn arguments(top: Option<&str>, by: Option<&str>) -> DisplayArguments {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let lists = ListArguments { top: owned(top), by: owned(by), showtopopts: false };
        DisplayArguments { lists, ..DisplayArguments::default() }
    }

    #[test]
    fn a_list_asks_for_its_own_source() {
        let letters = |top: &str, subsystems: Option<&str>| {
            let mut arguments = arguments(Some(top), None);
            arguments.subsystems = subsystems.map(str::to_owned);
            arguments.selection(&"cdn".into()).map(|selection| selection.to_string())
        };
        assert_eq!(letters("", None).unwrap(), "Z");
        assert_eq!(letters("totsize,3", None).unwrap(), "Y");
        assert_eq!(letters("rss", Some("cd")).unwrap(), "cdZ");
        assert_eq!(letters("name", Some("+m")).unwrap(), "cdnmY");
        assert!(letters("name.whit", None).unwrap_err().to_string().contains("--showtopopts"));
        assert!(letters("time", Some("cY")).is_err());
        for wrong in ["time,0", "time,x", "time,1,w", "time,1,v,2"] {
            assert!(letters(wrong, None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_type_that_collectl_has_is_known() {
        let known: Vec<&str> =
            layouts().flat_map(|(_, layout)| ranks(layout)).map(|rank| rank.name).collect();
        let collectl = "vsz rss syst usrt time accum rkb wkb iokb rkbc wkbc iokbc ioall rsys wsys \
                        iosys iocncl majf minf flt vctx nctx cpu pid thread numobj actobj objsize \
                        numslab objslab totsize totchg totpct name";
        for name in collectl.split_whitespace() {
            assert!(known.contains(&name), "{name}");
            assert!(sort_types().contains(&format!("  {name} ")), "{name}");
        }
    }

    #[test]
    fn lists_in_playback_have_ten_lines_and_records() {
        let mut options = arguments(Some("rss"), None).options("Z".into()).unwrap();
        arguments(Some("rss"), None).settle_list(&mut options, true, false).unwrap();
        let list = options.list.clone().unwrap();
        assert_eq!((list.order.as_str(), list.count, list.records), ("rss", 10, true));
        arguments(Some("rss,3"), Some("user")).settle_list(&mut options, true, false).unwrap();
        assert_eq!(options.by, "user");
        assert_eq!(options.list.unwrap().count, 3);
    }

    #[test]
    fn the_area_above_is_as_large_as_collectls() {
        assert_eq!(scroll_end(&"".into(), None, false), 0);
        assert_eq!(scroll_end(&"cd".into(), None, false), 8);
        assert_eq!(scroll_end(&"cd".into(), Some(10), false), 13);
        assert_eq!(scroll_end(&"cdm".into(), None, true), 11);
        assert_eq!(scroll_end(&"cD".into(), Some(7), true), 8);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let refused = |change: fn(&mut DisplayArguments), top, by| {
            let mut arguments = arguments(top, by);
            change(&mut arguments);
            arguments.options("Z".into()).is_err()
        };
        assert!(refused(|a| a.plot = true, Some("time"), None));
        assert!(refused(|a| a.formats = FormatArguments::of("json"), Some("time"), None));
        assert!(!refused(|a| a.formats = FormatArguments::of("json"), Some("time"), Some("user")));
        assert!(refused(|a| a.formats = FormatArguments::of("openmetrics"), None, Some("user")));
        assert!(refused(|a| a.verbose = true, None, Some("user")));
    }
}
