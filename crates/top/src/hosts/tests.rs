//! Without a terminal and without ssh: hosts whose samples are made by hand.

use std::sync::Arc;

use jiff::tz::TimeZone;
use many_hosts::{HostEvent, HostsRecorded};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use sample::{Meta, Snapshot, SourceDef, State};
use terminal::Theme;

use super::columns::{HostColumn, shown};
use super::state::{Condition, total};
use super::view::HostsView;
use super::{HostsSettings, OF_LIST, draw_screen, silent_seconds};
use crate::app::NextStep;
use crate::clock::monotonic_ns;
use crate::list::ListSettings;

const PLAIN: Theme = Theme { colour: false, ascii: false };

/// The sources of the list, by the letters that hosts are asked for.
fn defs() -> Vec<Arc<SourceDef>> {
    let asked = |entry: &&&'static source::Entry| entry.asked_by(&OF_LIST.into());
    source::ALL.iter().filter(asked).map(|entry| entry.def().shared()).collect()
}

fn view(hosts: &str) -> HostsView {
    let hosts = HostsRecorded::new((hosts, None), &[]).unwrap();
    let settings = HostsSettings {
        // No host is silent because the test is slow.
        interval_seconds: 86_400.0,
        sort: HostColumn::Cpu,
        list: ListSettings::default(),
        zone: TimeZone::UTC,
    };
    HostsView::new(hosts, settings)
}

/// A sample: CPUs, busy and all ticks of the CPUs so far, load in hundredths, free memory of 1 GiB in KiB.
fn sample(second: u64, [cpus, busy, all, load, free]: [u64; 5]) -> Box<Snapshot> {
    let defs = defs();
    let mut snapshot = Box::new(Snapshot::new(&defs));
    let rows: [(&str, &[(&str, u64)]); 2] = [
        ("cpu", &[("user", busy), ("idle", all - busy), ("load_1m", load), ("cpus_online", cpus)]),
        ("memory", &[("total", 1 << 20), ("available", free)]),
    ];
    snapshot.monotonic_ns = second * 1_000_000_000;
    snapshot.realtime_ns = snapshot.monotonic_ns.cast_signed();
    for (source, cells) in rows {
        let index = defs.iter().position(|def| def.name == source).unwrap();
        snapshot.fresh[index] = true;
        let sample = &mut snapshot.samples[index];
        sample.state = State::Ok;
        (sample.monotonic_ns, sample.realtime_ns) = (second * 1_000_000_000, 0);
        sample.table.begin();
        let mut row = sample.table.row(b"");
        for (field, value) in cells {
            row.set(defs[index].field(field).unwrap(), *value);
        }
    }
    snapshot
}

/// Two samples of a host; `busy` of 100 ticks between them.
fn sends(view: &mut HostsView, number: usize, [cpus, busy, load, free]: [u64; 4]) {
    let known = view.known();
    known.apply_event(Some(HostEvent::Begun(number, Meta::new(), defs())), monotonic_ns());
    for second in 0..2 {
        let cells = [cpus, busy * second, 100 * second, load, free];
        known.apply_event(
            Some(HostEvent::Sample(number, sample(10 + second, cells))),
            monotonic_ns(),
        );
    }
}

fn draw(view: &mut HostsView, width: u16, height: u16, theme: Theme) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw_screen(view, frame.buffer_mut(), theme)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |y| -> String { (0..width).map(|x| buffer[(x, y)].symbol()).collect() };
    let text = (0..height).map(|y| line(y).trim_end().to_owned() + "\n").collect::<String>();
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    text
}

fn key(view: &mut HostsView, code: KeyCode) -> NextStep {
    view.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE))).unwrap()
}

fn keys(view: &mut HostsView, letters: &str) {
    for letter in letters.chars() {
        key(view, KeyCode::Char(letter));
    }
}

/// Four hosts: an idle one with 1 CPU, a busy one with 3, one that failed, one that has sent nothing.
fn four() -> HostsView {
    let mut view = view("oak,me@elm,ash,yew");
    sends(&mut view, 0, [1, 20, 150, 1 << 19]);
    sends(&mut view, 1, [3, 80, 50, 1 << 18]);
    let failed = HostEvent::Failed(2, "no route".to_owned(), true);
    view.known().apply_event(Some(failed), monotonic_ns());
    view.refresh().unwrap();
    view
}

fn names(view: &HostsView) -> Vec<&str> {
    view.lines.iter().map(|&at| view.all[at].name.as_str()).collect()
}

#[test]
fn all_hosts_are_as_one_machine_and_the_silent_come_last() {
    let mut view = four();
    assert_eq!(names(&view), ["me@elm", "oak", "ash", "yew"]);
    let text = draw(&mut view, 60, 10, PLAIN);
    assert!(text.contains("4 hosts: 2 send, 1 silent, 1 failed  by CPU%"), "{text}");
    let line = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // (20 x 1 + 80 x 3) / 4; 0.75 of 2 GiB is free.
    assert!(line(&text, "all 2 ").starts_with("all 2 65.0 "), "{text}");
    assert!(line(&text, "all 2 ").contains(" 2.00 62.5 "), "{text}");
    assert!(line(&text, "me@elm").starts_with("me@elm 80.0 "), "{text}");
    assert_eq!(line(&text, "ash"), "ash no route; trying again");
    assert_eq!(line(&text, "yew"), "yew starting");
    let sums = total(&view.all);
    assert_eq!((sums.cpus, sums.net_in, sums.load[0]), (Some(4.0), None, Some(2.0)));
    keys(&mut view, "R");
    assert_eq!(names(&view), ["oak", "me@elm", "ash", "yew"]);
    keys(&mut view, "N");
    assert_eq!(names(&view), ["me@elm", "oak", "ash", "yew"]);
}

#[test]
fn a_host_that_sends_nothing_more_is_silent() {
    let view = four();
    let later_ns = monotonic_ns() + (silent_seconds(1.0) * 1e9) as u64;
    let why = |seconds: u64| {
        let lines = view.known().lines(later_ns + seconds * 1_000_000_000, 1.0);
        lines.into_iter().map(|line| match line.condition {
            Condition::Sends(_) => "sends".to_owned(),
            Condition::Silent(why) | Condition::Failed(why) => why,
        })
    };
    let now: Vec<String> = why(0).collect();
    assert!(now[0].starts_with("silent: no sample for "), "{now:?}");
    assert!(now[3].starts_with("no answer to the login for "), "{now:?}");
    assert!(why(600).next().unwrap().contains(" 10m"), "{now:?}");
    // It sends again.
    view.known().apply_event(Some(HostEvent::Sample(0, sample(700, [1, 1, 1, 1, 1]))), later_ns);
    let again = view.known().lines(later_ns, 1.0);
    assert!(again[0].values().is_some() && again[1].values().is_none());
    // What begins anew has no rates of what was before.
    view.known().apply_event(Some(HostEvent::Begun(0, Meta::new(), defs())), later_ns);
    view.known().apply_event(Some(HostEvent::Sample(0, sample(800, [1, 9, 9, 1, 1]))), later_ns);
    let line = &view.known().lines(later_ns, 1.0)[0];
    assert_eq!(HostColumn::Cpu.number(line.values().unwrap()), None);
    assert!(!view.known().has_sent(9));
    view.known().apply_event(None, later_ns);
    assert!(view.known().has_sent(9));
}

#[test]
fn the_selection_holds_to_its_host_and_a_filter_hides_others() {
    let mut view = four();
    key(&mut view, KeyCode::Enter);
    assert!(view.notice.as_deref().is_some_and(|text| text.contains("select a host")));
    key(&mut view, KeyCode::Down);
    assert_eq!(view.selected, Some(1));
    keys(&mut view, "R");
    assert_eq!((view.selected, view.cursor), (Some(1), 1));
    keys(&mut view, "fa");
    key(&mut view, KeyCode::Enter);
    assert_eq!((names(&view), view.selected), (vec!["oak", "ash"], None));
    keys(&mut view, "k");
    assert!(view.notice.as_deref().is_some_and(|text| text.contains("processes of a host")));
    keys(&mut view, "o");
    key(&mut view, KeyCode::Up);
    key(&mut view, KeyCode::Enter);
    assert_eq!(view.sort, HostColumn::Cpus);
    // A paused screen stays as it is.
    keys(&mut view, " ");
    sends(&mut view, 2, [1, 20, 150, 1 << 19]);
    assert!(!view.has_news());
    keys(&mut view, " ");
    assert!(view.has_news());
    view.refresh().unwrap();
    assert_eq!(view.all.iter().filter(|line| line.values().is_some()).count(), 3);
}

#[test]
fn no_number_is_cut_and_the_sorted_column_is_there() {
    for width in 20..300 {
        for &sort in HostColumn::ALL {
            let columns = shown(width, 12, sort);
            let needs = |column: &HostColumn| match column {
                HostColumn::Host => 12,
                column => column.title().1,
            };
            let taken: u16 = columns.iter().map(|column| needs(column) + 1).sum();
            assert!(taken <= width + 1 && columns.contains(&sort), "{width}: {columns:?}");
        }
    }
    assert_eq!(shown(300, 12, HostColumn::Cpu), HostColumn::ALL);
}

#[test]
fn no_size_is_too_small_and_no_key_panics() {
    let mut view = four();
    let hostile = HostEvent::Failed(0, "größe \u{2500}".to_owned(), false);
    view.known().apply_event(Some(hostile), monotonic_ns());
    for (width, height) in [(1, 1), (2, 2), (10, 3), (40, 4), (47, 9), (140, 20)] {
        for letter in (' '..='~').filter(|&letter| letter != 'q') {
            key(&mut view, KeyCode::Char(letter));
            draw(&mut view, width, height, PLAIN);
            for code in [KeyCode::Up, KeyCode::PageDown, KeyCode::Down, KeyCode::End] {
                key(&mut view, code);
            }
            view.refresh().unwrap();
            draw(&mut view, width, height, Theme { colour: true, ascii: true });
            key(&mut view, KeyCode::Esc);
            key(&mut view, KeyCode::Esc);
        }
    }
}
