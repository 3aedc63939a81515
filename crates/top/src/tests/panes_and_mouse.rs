//! Panes, and what a click meets.

use ratatui_crossterm::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::*;
use crate::panes::Pane;

const CLICK: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

/// The screen of a machine of `testdata/proc`, with its first sample.
fn of_a_machine() -> App {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/proc/vm2");
    let settings = ListSettings::default();
    let feed = SampleFeed::Live(Box::new(open_live(&root, &settings)));
    let mut app = App::new(feed, Meta::new(), TimeZone::UTC, settings);
    app.root = root;
    app.tick().unwrap();
    app
}

#[test]
fn panes_show_what_the_feed_has() {
    let mut app = of_a_machine();
    for width in [30, 60, 80, 120, 200] {
        for (title, first) in [
            ("CPU", "BUSY%"),
            ("DISK", "UTIL%"),
            ("INTERFACE", "RECV/s"),
            ("CGROUP", "CPU%"),
            ("RESOURCE", "SOME%"),
            ("COMMAND", "PID"),
        ] {
            let step = app.event(&Event::Key(KeyCode::Tab.into())).unwrap();
            assert_eq!(step, NextStep::Tick);
            app.tick().unwrap();
            let text = draw(&mut app, width, 24, PLAIN);
            let titles = text.lines().find(|line| line.trim_start().starts_with(first));
            assert!(titles.is_some_and(|line| line.contains(title)), "{title}: {text}");
        }
    }
    app.event(&Event::Key(KeyCode::Tab.into())).unwrap();
    app.tick().unwrap();
    let text = draw(&mut app, 80, 24, PLAIN);
    let stat = std::fs::read_to_string(app.root.join("proc/stat")).unwrap();
    let cpus = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    let bars = text.lines().skip(7).filter(|line| line.contains('[')).count();
    assert_eq!(bars, cpus.count().min(16), "{text}");
    // What changes the list does nothing here; Esc goes back to it.
    app.event(&Event::Key(KeyCode::Char('t').into())).unwrap();
    assert!(!app.list.settings.tree);
    for key in ['.', '.', ','] {
        app.event(&Event::Key(KeyCode::Char(key).into())).unwrap();
    }
    assert_eq!(app.pane_sort, Some(0));
    app.event(&Event::Key(KeyCode::Esc.into())).unwrap();
    assert!(draw(&mut app, 80, 24, PLAIN).contains("COMMAND"));
}

#[test]
fn the_mouse_sorts_selects_and_moves() {
    let mut made = hostile();
    made.draw(80, 24);
    let mut mouse = |kind, column, row| {
        let event = Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
        made.app.event(&event).unwrap();
        draw(&mut made.app, 80, 24, PLAIN);
        (made.app.list.settings.sort, made.app.list.cursor, made.app.detail.is_some())
    };
    assert_eq!(mouse(CLICK, 3, 6).0, Column::Pid);
    assert_eq!(mouse(CLICK, 75, 6).0, Column::Command);
    assert_eq!(mouse(CLICK, 3, 6).0, Column::Pid);
    assert_eq!(mouse(CLICK, 3, 8).1, 1);
    assert_eq!(mouse(MouseEventKind::ScrollDown, 3, 8).1, 4);
    assert_eq!(mouse(MouseEventKind::ScrollUp, 3, 8).1, 1);
    assert!(!mouse(CLICK, 3, 23).2, "nothing is there");
    assert!(mouse(CLICK, 3, 8).2, "a second click opens it");
}

#[test]
fn a_click_sorts_a_pane_and_shows_another() {
    let mut app = of_a_machine();
    app.event(&Event::Key(KeyCode::Tab.into())).unwrap();
    let click = |app: &mut App, line: &str, word: &str| {
        app.tick().unwrap();
        let text = draw(app, 120, 24, PLAIN);
        let row = text.lines().position(|one| one.contains(line)).unwrap();
        let column = text.lines().nth(row).unwrap().find(word).unwrap();
        let place = |number: usize| u16::try_from(number).unwrap();
        let (column, row) = (place(column), place(row));
        let event = MouseEvent { kind: CLICK, column, row, modifiers: KeyModifiers::NONE };
        app.event(&Event::Mouse(event)).unwrap()
    };
    assert_eq!(click(&mut app, "?help Tab:", "Interfaces"), NextStep::Tick);
    assert_eq!(app.pane, Pane::Interfaces);
    assert_eq!(click(&mut app, "RECV/s", "PKIN/s"), NextStep::Draw);
    assert_eq!(app.pane_sort, Some(2));
    assert_eq!(click(&mut app, "RECV/s", "INTERFACE"), NextStep::Nothing, "names have no order");
    assert_eq!(click(&mut app, "?help Tab:", "help"), NextStep::Nothing);
    assert_eq!(click(&mut app, "?help Tab:", "Processes"), NextStep::Tick);
    assert_eq!((app.pane, app.pane_sort), (Pane::Processes, None));
}

#[test]
fn only_panes_of_the_feed_are_named_beside_the_state() {
    let settings = ListSettings { filter: "x".to_owned(), ..ListSettings::default() };
    let defs: Vec<_> = defs().into_iter().filter(|def| def.name != "cgroup").collect();
    let feed = SampleFeed::Given(defs.clone());
    let mut app = App::new(feed, Meta::new(), TimeZone::UTC, settings);
    app.readings.history.push(&mut Snapshot::new(&defs));
    app.tick().unwrap();
    app.event(&Event::Key(KeyCode::Tab.into())).unwrap();
    let text = draw(&mut app, 120, 24, PLAIN);
    let wanted = "with 'x'  ?help Tab: Processes CPUs Disks Interfaces Pressure";
    assert_eq!(text.lines().last().unwrap().trim_end(), wanted, "no control groups: {text}");
}
