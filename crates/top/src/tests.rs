//! All of `whit top` without a terminal: with tables made by hand, and a kernel tree of
//! `testdata/proc`, drawn into a buffer.

use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use sample::{Meta, RowMut, Snapshot, SourceDef, State};
use std::sync::Arc;

use super::app::{App, NextStep, Prompt, SampleFeed, open_live, open_recording};
use super::columns::Column;
use super::list::{ListSettings, ProcessList};
use super::screen::{self, Theme};
use super::values::GroupBy;
use feed::Motion;
use jiff::tz::TimeZone;

mod panes_and_mouse;

const PLAIN: Theme = Theme { colour: false, ascii: false };

fn defs() -> Vec<Arc<SourceDef>> {
    let find = |name: &&str| source::find(name).unwrap_or_else(|| panic!("{name}")).def().shared();
    let all = super::fields::SOURCES.iter().chain([&super::traffic::SOURCE]);
    all.map(find).collect()
}

/// A machine whose tables are filled by hand.
struct TestMachine {
    app: App,
    snapshot: Snapshot,
    defs: Vec<Arc<SourceDef>>,
    tick: u64,
}

impl TestMachine {
    fn new(settings: ListSettings) -> Self {
        let defs = defs();
        let mut meta = Meta::new();
        meta.set("host", "oak");
        meta.set("boot_ns", "0");
        let app = App::new(SampleFeed::Given(defs.clone()), meta, TimeZone::UTC, settings);
        TestMachine { app, snapshot: Snapshot::new(&defs), defs, tick: 0 }
    }

    fn row(&mut self, source: &str, name: &[u8], cells: &[(&str, u64)], texts: &[(&str, &[u8])]) {
        let index = self.defs.iter().position(|def| def.name == source).unwrap();
        let def = &self.defs[index];
        let sample = &mut self.snapshot.samples[index];
        if !self.snapshot.fresh[index] {
            sample.table.begin();
        }
        self.snapshot.fresh[index] = true;
        sample.state = State::Ok;
        sample.monotonic_ns = (1000 + self.tick) * 1_000_000_000;
        sample.realtime_ns = sample.monotonic_ns.cast_signed();
        let mut row: RowMut<'_> = sample.table.row(name);
        for (field, value) in cells {
            row.set(def.field(field).unwrap(), *value);
        }
        for (field, text) in texts {
            row.set_text(def.field(field).unwrap(), text);
        }
    }

    /// A process: number, parent, milliseconds of CPU so far, MiB in memory.
    fn process(&mut self, pid: u64, parent: u64, cpu_ms: u64, mib: u64, texts: &[(&str, &[u8])]) {
        let name = format!("{pid}\x1f{pid}");
        let cells = [
            ("tgid", pid),
            ("parent", parent),
            ("uid", 1000),
            ("threads", 1),
            ("priority", 20),
            ("nice", 0),
            ("run_time", cpu_ms * 1_000_000),
            ("resident", mib * 1024),
            ("virtual", mib * 4096),
        ];
        let mut all = vec![("state", b"S".as_slice()), ("user", b"ann")];
        all.extend_from_slice(texts);
        self.row("process", name.as_bytes(), &cells, &all);
    }

    fn tick(&mut self) {
        self.snapshot.monotonic_ns = (1000 + self.tick) * 1_000_000_000;
        self.snapshot.realtime_ns = self.snapshot.monotonic_ns.cast_signed();
        self.app.readings.history.push(&mut self.snapshot);
        self.snapshot.fresh.fill(false);
        self.tick += 1;
        self.app.tick().unwrap();
    }

    fn draw(&mut self, width: u16, height: u16) -> String {
        draw(&mut self.app, width, height, PLAIN)
    }

    fn key(&mut self, code: KeyCode) -> NextStep {
        self.app.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE))).unwrap()
    }

    fn keys(&mut self, letters: &str) {
        for letter in letters.chars() {
            self.key(KeyCode::Char(letter));
        }
    }
}

fn draw(app: &mut App, width: u16, height: u16, theme: Theme) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(app, frame.buffer_mut(), theme)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let mut text = String::new();
    for y in 0..height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..width {
            let symbol = buffer[(x, y)].symbol();
            assert!(!symbol.chars().any(char::is_control), "{symbol:?} reaches the terminal");
            if skip == 0 {
                line.push_str(symbol);
                // A wide character takes the next cell too.
                skip = usize::from(ratatui_core::text::Span::raw(symbol).width() > 1);
            } else {
                skip -= 1;
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Two ticks of a small machine with hostile names.
fn hostile() -> TestMachine {
    let mut made = TestMachine::new(ListSettings::default());
    for tick in 0..2 {
        made.process(1, 0, 50, 8, &[("command", b"init"), ("cgroup", b"/init.scope")]);
        let shell: &[(&str, &[u8])] =
            &[("command", b"bash"), ("command_line", b"-bash"), ("cgroup", b"/user.slice")];
        made.process(100, 1, 100 + 10 * tick, 4, shell);
        made.process(101, 100, 500 * tick, 2, &[("command", b"ev) R 1 x"), ("state", b"R")]);
        made.process(102, 100, 20, 2, &[("command", b"new\nline")]);
        made.process(103, 101, 200 * tick, 1024, &[("command", b"broken\xff\xfe utf8")]);
        made.process(104, 1, 30 * tick, 16, &[("command", b"\x1b[2J\x1b]0;x\x07")]);
        made.process(105, 1, 40 * tick, 16, &[("command", "日本語の名前".as_bytes())]);
        if tick == 1 {
            let cells = [
                ("run_time", 250_000_000),
                ("lifetime", 600_000_000),
                ("exit_code", 3),
                ("peak_resident", 5120),
                ("start_time", 100_020),
            ];
            let texts: [(&str, &[u8]); 3] =
                [("command", b"cc1"), ("user", b"ann"), ("cgroup", b"/user.slice")];
            made.row("exit", b"200\x1f100020", &cells, &texts);
            // This one started before: its usage in the interval is that of its life less the
            // earlier part.
            let cells = [("run_time", 900_000_000), ("signal", 9), ("start_time", 106)];
            made.row("exit", b"106\x1f106", &cells, &[("command", b"old")]);
        } else {
            made.process(106, 1, 400, 1, &[("command", b"old")]);
        }
        let cpu = [("user", 100 * tick), ("system", 20 * tick), ("idle", 80 * tick), ("forks", 3)];
        made.row("cpu", b"", &cpu, &[]);
        let memory = [("total", 4_194_304), ("available", 3_145_728), ("free", 1_048_576)];
        made.row("memory", b"", &memory, &[]);
        made.tick();
    }
    made
}

#[test]
fn a_screen_of_80_by_24_with_hostile_names() {
    let text = hostile().draw(80, 24);
    compare("top-80x24", &text);
}

#[test]
fn a_screen_of_120_by_40() {
    compare("top-120x40", &hostile().draw(120, 40));
}

#[test]
fn a_tree_and_groups() {
    let mut made = hostile();
    made.keys("t");
    let tree = made.draw(80, 20);
    made.keys("g");
    let groups = made.draw(80, 20);
    // Ended processes are in the sum: 10 ms of the shell and 250 ms of the compiler.
    assert!(groups.lines().any(|l| l.contains("26.0") && l.ends_with("/user.slice")), "{groups}");
    compare("top-tree", &tree);
    compare("top-groups", &groups);
}

/// Compares with `testdata/golden/top/NAME.txt`; `WHIT_BLESS=1` writes it anew.
fn compare(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../testdata/golden/top/{name}.txt"));
    if std::env::var_os("WHIT_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap();
    assert!(wanted == text, "{name}: WHIT_BLESS=1 takes it as right\n{text}");
}

#[test]
fn no_size_is_too_small_and_no_key_panics() {
    let mut made = hostile();
    let letters: Vec<char> = (' '..='~').filter(|&letter| letter != 'q').collect();
    for (width, height) in [(1, 1), (2, 2), (10, 3), (40, 10), (47, 9), (79, 16), (300, 100)] {
        for &letter in &letters {
            made.key(KeyCode::Char(letter));
            made.draw(width, height);
            for code in [KeyCode::Up, KeyCode::PageDown, KeyCode::Down, KeyCode::End, KeyCode::Home]
            {
                made.key(code);
            }
            made.draw(width, height);
            made.key(KeyCode::Esc);
            made.key(KeyCode::Esc);
        }
        for ascii in [false, true] {
            draw(&mut made.app, width, height, Theme { colour: true, ascii });
        }
    }
}

#[test]
fn what_is_missing_is_a_dash() {
    let mut made = TestMachine::new(ListSettings::default());
    made.row("process", b"7\x1f7", &[], &[]);
    made.tick();
    let text = made.draw(200, 20);
    let line = text.lines().find(|line| line.trim_start().starts_with("7 ")).unwrap();
    assert!(line.split_whitespace().skip(1).all(|cell| cell == "-"), "{line}");
    assert!(!text.contains('0') || !text.contains("0.0"), "{text}");
}

#[test]
fn the_selection_holds_to_its_process() {
    let mut made = hostile();
    let select = |made: &mut TestMachine, pid: &str| {
        made.keys(&format!("/{pid}"));
        made.key(KeyCode::Enter);
    };
    select(&mut made, "100");
    assert_eq!(made.app.list.selected.as_deref(), Some(b"100\x1f100".as_slice()));
    let before = made.app.list.cursor;
    made.keys("N");
    assert_ne!(made.app.list.cursor, before);
    assert_eq!(made.app.list.selected.as_deref(), Some(b"100\x1f100".as_slice()));
    // The same pid with another start time: another process.
    made.row("process", b"100\x1f999", &[("tgid", 100)], &[("command", b"bash")]);
    made.tick();
    assert_eq!(made.app.list.selected, None);
}

#[test]
fn filters_sorts_and_searches() {
    let mut made = hostile();
    made.keys("fUTF8");
    made.key(KeyCode::Enter);
    assert_eq!(made.app.list.lines.len(), 1);
    made.keys("f");
    made.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL))).unwrap();
    made.key(KeyCode::Enter);
    assert_eq!(made.app.list.lines.len(), 9);
    made.keys("e");
    assert_eq!(made.app.list.lines.len(), 7);
    made.keys("i");
    assert_eq!(made.app.list.lines.len(), 5);
    made.keys("iM");
    assert_eq!(made.app.list.settings.sort, Column::Memory);
    made.key(KeyCode::Home);
    assert_eq!(made.app.list.selected.as_deref(), Some(b"103\x1f103".as_slice()));
    made.keys("/nothing like it");
    made.key(KeyCode::Enter);
    assert_eq!(made.app.notice.as_deref(), Some("not found: nothing like it"));
    made.keys("ubob");
    made.key(KeyCode::Enter);
    assert!(made.app.list.lines.is_empty());
    made.app.list = ProcessList::new(ListSettings { pids: vec![101], ..ListSettings::default() });
    made.app.refresh();
    assert_eq!(made.app.list.lines.len(), 1);
}

#[test]
fn branches_fold_and_circles_end() {
    let mut made = TestMachine::new(ListSettings { tree: true, ..ListSettings::default() });
    made.process(1, 0, 0, 1, &[]);
    made.process(2, 1, 0, 1, &[]);
    // Each is the other's parent, which no kernel would report.
    made.process(3, 4, 0, 1, &[]);
    made.process(4, 3, 0, 1, &[]);
    made.tick();
    assert_eq!(made.app.list.lines.len(), 4);
    made.key(KeyCode::Home);
    made.keys("-");
    assert_eq!(made.app.list.lines.len(), 3);
    made.keys("-");
    assert_eq!(made.app.list.lines.len(), 4);
}

#[test]
fn groups_go_round() {
    let mut made = hostile();
    for wanted in [Some(GroupBy::Cgroup), Some(GroupBy::User), Some(GroupBy::Command), None] {
        made.keys("g");
        assert_eq!(made.app.list.settings.grouping, wanted);
        made.draw(80, 24);
    }
}

#[test]
fn intervals_are_checked() {
    let mut made = hostile();
    for (typed, wanted) in [("5", 5.0), ("0", 5.0), ("nan", 5.0), ("0.5", 0.5), ("1e9", 0.5)] {
        made.keys("d");
        assert_eq!(made.app.prompt, Prompt::Interval(String::new()));
        made.keys(typed);
        made.key(KeyCode::Enter);
        assert_eq!(made.app.interval_seconds.to_string(), wanted.to_string());
    }
}

/// 200 seconds, in which processes were read once a minute and one ended every second.
fn recording(folder: &std::path::Path) -> std::path::PathBuf {
    let path = folder.join("made.whit");
    let mut made = TestMachine::new(ListSettings::default());
    let meta = &mut made.app.readings.meta;
    meta.set("origin", "whit");
    meta.set("interval_ns", "1000000000");
    meta.set("interval2_ns", "60000000000");
    meta.set("timezone", "+00:00");
    let options = recording::WriterOptions { block_samples: 16, ..Default::default() };
    let meta = made.app.readings.meta.clone();
    let mut writer = recording::Writer::create(&path, &meta, &made.defs, options).unwrap();
    for second in 0..200 {
        if second % 60 == 0 {
            made.process(1, 0, 50 * second, 8, &[("command", b"init")]);
        }
        let name = format!("{}\x1f{}", 500 + second, 100_000 + 100 * second);
        let cells =
            [("run_time", 600_000_000), ("start_time", 100_000 + 100 * second), ("exit_code", 0)];
        made.row("exit", name.as_bytes(), &cells, &[("command", b"short")]);
        // Busy for the half, and in one second for nearly all of it.
        let more = if second >= 180 { 45 } else { 0 };
        let cpu = [("user", 50 * second + more), ("idle", 50 * second - more)];
        made.row("cpu", b"", &cpu, &[]);
        made.snapshot.monotonic_ns = (1000 + made.tick) * 1_000_000_000;
        made.snapshot.realtime_ns = made.snapshot.monotonic_ns.cast_signed();
        writer.append(&made.snapshot).unwrap();
        made.snapshot.fresh.fill(false);
        made.tick += 1;
    }
    writer.close().unwrap();
    path
}

#[test]
fn a_recording_is_moved_in() {
    let folder = tempfile::tempdir().unwrap();
    let (recorded, meta) = open_recording(&recording(folder.path()), TimeZone::UTC).unwrap();
    // 1,150 s after the epoch.
    let now = jiff::Timestamp::from_second(86_400).unwrap().to_zoned(TimeZone::UTC);
    let at = recorded.moment("00:19:10", &now).unwrap();
    assert_eq!(recorded.moment("1970-01-01T01:19:10+01:00", &now).unwrap(), at);
    assert!(recorded.moment("25:00", &now).is_err());
    assert!(recorded.moment("10:00-11:00", &now).is_err());
    let mut app = App::new(
        SampleFeed::Recorded(Box::new(recorded)),
        meta,
        TimeZone::UTC,
        ListSettings::default(),
    );
    app.paused = true;
    let second = |app: &App| app.readings.frame().realtime_ns / 1_000_000_000 - 1000;
    assert!(app.go(Motion::At(at)).unwrap());
    assert_eq!(second(&app), 150);
    let text = draw(&mut app, 80, 24, PLAIN);
    assert!(text.starts_with("1970-01-01 00:19:10  oak"), "{text}");
    // 3 s of CPU in the minute from 60 to 120, and 60 short lives of 0.6 s each.
    assert!(text.contains("  5.0 "), "{text}");
    assert_eq!(app.list.ended.closed().len(), 60);
    app.list.settings.grouping = Some(GroupBy::Command);
    app.refresh();
    let text = draw(&mut app, 80, 24, PLAIN);
    assert!(text.lines().any(|line| line.contains(" 60.0 ") && line.ends_with("short")), "{text}");
    for (motion, wanted) in [
        (Motion::Back, 149),
        (Motion::Forward, 150),
        (Motion::Forward, 151),
        (Motion::By(-60_000_000_000), 91),
        (Motion::By(60_000_000_000), 151),
        (Motion::Last, 199),
        (Motion::Back, 198),
        (Motion::First, 0),
        (Motion::Forward, 1),
        (Motion::At(0), 0),
        (Motion::At(i64::MAX), 199),
    ] {
        assert!(app.go(motion).unwrap(), "{motion:?}");
        assert_eq!(second(&app), wanted, "{motion:?}");
        draw(&mut app, 80, 24, PLAIN);
    }
    assert!(!app.go(Motion::Forward).unwrap());
    let press = |app: &mut App, keys: &str| {
        for letter in keys.chars() {
            let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
            assert_eq!(app.event(&Event::Key(code.into())).unwrap(), NextStep::Draw, "{keys}");
        }
    };
    for (key, seconds, wanted) in [
        (")", 0.5, "a sample every 0.5 s: 2 times as fast as recorded; Space plays"),
        ("(", 1.0, "a sample every 1 s: 1 times as fast as recorded; Space plays"),
        ("(", 2.0, "a sample every 2 s: 0.5 times as fast as recorded; Space plays"),
        (")", 1.0, "a sample every 1 s: 1 times as fast as recorded; Space plays"),
    ] {
        press(&mut app, key);
        assert_eq!((app.interval_seconds, app.notice.as_deref()), (seconds, Some(wanted)));
    }
    press(&mut app, "j00:18:20\n");
    assert_eq!(second(&app), 100, "a time that was typed");
    press(&mut app, "x");
    assert_eq!(second(&app), 180, "{:?}", app.notice);
    assert_eq!(app.notice.as_deref(), Some("CPUs busy 95 %, before 50 %"));
    press(&mut app, "x");
    assert_eq!(second(&app), 199);
    assert_eq!(app.notice.as_deref(), Some("no sudden load up to the last sample"));
    press(&mut app, "jnoonish\n");
    assert!(draw(&mut app, 60, 24, PLAIN).contains("T10:15; 'noonish' is no time"), "whole");
    assert_eq!(second(&app), 199);
    assert_eq!(app.event(&Event::Key(KeyCode::Char('k').into())).unwrap(), NextStep::Draw);
    assert_eq!(app.prompt, Prompt::None, "nobody is there to get a signal");
}

#[test]
fn a_recording_without_processes_is_refused() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/recordings/version-1-closed.whit");
    let error = open_recording(&path, TimeZone::UTC).err().unwrap().to_string();
    assert!(error.contains("has no processes"), "{error}");
}

#[test]
fn another_machines_tree_shows_that_machine() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/proc/vm2");
    let live = open_live(&root, &ListSettings::default());
    let mut app = App::new(
        SampleFeed::Live(Box::new(live)),
        Meta::new(),
        TimeZone::UTC,
        ListSettings::default(),
    );
    app.root = root;
    app.tick().unwrap();
    app.tick().unwrap();
    let text = draw(&mut app, 80, 24, PLAIN);
    let total = app.machine.memory_total.unwrap();
    let meminfo = std::fs::read_to_string(app.root.join("proc/meminfo")).unwrap();
    assert!(meminfo.contains(&format!("{total:.0} kB")), "{total}");
    assert!(!text.contains("load -"), "{text}");
    // Processes of a recording cannot be signalled.
    app.list.selected = Some(b"1\x1f1".to_vec());
    app.event(&Event::Key(KeyCode::Char('k').into())).unwrap();
    assert_eq!(app.prompt, Prompt::None);
}

/// Two ticks of two processes, of which one sent and received, and of what belongs to none.
fn traffic() -> TestMachine {
    let mut made = TestMachine::new(ListSettings::default());
    for tick in 1..3 {
        made.process(1, 0, 50, 8, &[("command", b"init"), ("cgroup", b"/init.scope")]);
        made.process(100, 1, 100, 4, &[("command", b"curl"), ("cgroup", b"/user.slice")]);
        let zero = ["tcp", "udp", "other"].map(|one| {
            ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"].map(|two| format!("{one}_{two}"))
        });
        let mut row = |name: &[u8], bytes: u64, texts: &[(&str, &[u8])]| {
            let cells: Vec<(&str, u64)> =
                zero.iter().flatten().map(|field| (field.as_str(), bytes * tick)).collect();
            made.row("process_net", name, &cells, texts);
        };
        row(b"0\x1f0", 1024, &[("command", b"no process")]);
        row(b"100\x1f100", 4096, &[("command", b"curl"), ("cgroup", b"/user.slice")]);
        // Its end was not told.
        row(b"77\x1f77", 512, &[("command", b"wget"), ("cgroup", b"/user.slice")]);
        made.tick();
    }
    made
}

#[test]
fn traffic_by_process_is_shown_where_it_is_known() {
    for width in [60, 80, 120, 200] {
        let text = hostile().draw(width, 20);
        assert!(!text.contains("RECV/s"), "{text}");
        let text = traffic().draw(width, 20);
        let titles = text.lines().find(|line| line.contains("COMMAND")).unwrap();
        assert!(titles.contains("RECV/s SENT/s"), "{text}");
        assert_eq!(titles.contains("PKIN/s PKOUT/s"), width >= 120, "{text}");
        // Three protocols of 4 KiB each second, each way.
        let line = text.lines().find(|line| line.contains("curl")).unwrap();
        assert!(line.contains("12K    12K"), "{text}");
        assert!(width < 120 || line.contains("12288"), "{text}");
        let line = text.lines().find(|line| line.ends_with("init")).unwrap();
        assert!(line.ends_with("- init"), "{text}");
    }
    let mut made = traffic();
    made.app.list.sort_by(Column::Net);
    made.app.refresh();
    made.key(KeyCode::Home);
    assert_eq!(made.app.list.selected.as_deref(), Some(b"100\x1f100".as_slice()));
    assert!(made.draw(80, 20).contains(" NET/s"));
    // What belongs to no process of the list is in the sums.
    for (grouping, name, sum) in [
        (GroupBy::Cgroup, "/user.slice", "14K    14K"),
        (GroupBy::Cgroup, "-", "3.0K   3.0K"),
        (GroupBy::User, "ann", "12K    12K"),
        (GroupBy::User, "-", "4.5K   4.5K"),
        (GroupBy::Command, "no process", "3.0K   3.0K"),
        (GroupBy::Command, "wget", "1.5K   1.5K"),
    ] {
        made.app.list.settings.grouping = Some(grouping);
        made.app.refresh();
        let text = made.draw(100, 20);
        let line = text.lines().find(|line| line.ends_with(&format!(" {name}"))).unwrap();
        assert!(line.contains(sum), "{name}: {sum}: {text}");
    }
}

#[test]
fn one_process_is_shown_alone() {
    let mut made = hostile();
    made.keys("/105");
    made.key(KeyCode::Enter);
    made.key(KeyCode::Enter);
    let text = made.draw(80, 24);
    assert!(text.contains("    105  Overview Threads Files Limits Environment"), "{text}");
    assert!(text.contains("CPU%      now    4.0 max    4.0 "), "{text}");
    assert!(text.contains("RES       now    16M max    16M "), "{text}");
    assert!(text.contains("日本語の名前"), "{text}");
    assert!(!text.contains("recv B/s"), "what is absent is not shown: {text}");
    made.key(KeyCode::Tab);
    assert!(made.draw(80, 24).contains("not in a recording"), "no machine to read it from");
    // Nothing but what its own keys do.
    made.keys("tgeH");
    assert_eq!(made.app.list.settings.grouping, None);
    made.process(1, 0, 50, 8, &[]);
    made.tick();
    assert!(made.draw(80, 24).contains("105 (ended)"));
    made.key(KeyCode::Esc);
    assert!(made.draw(80, 24).contains("COMMAND"));
}

#[test]
fn one_process_of_this_machine_is_read() {
    let settings =
        ListSettings { pids: vec![std::process::id().cast_signed()], ..ListSettings::default() };
    let live = open_live(std::path::Path::new("/"), &settings);
    let feed = SampleFeed::Live(Box::new(live));
    let mut app = App::new(feed, Meta::new(), TimeZone::UTC, settings);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("open\u{1b}[2J");
    let _open = std::fs::File::create(&path).unwrap();
    app.tick().unwrap();
    let mut press = |code: KeyCode| app.event(&Event::Key(code.into())).unwrap();
    press(KeyCode::Home);
    press(KeyCode::Enter);
    let mut page = |code: KeyCode| {
        app.event(&Event::Key(code.into())).unwrap();
        draw(&mut app, 300, 100, PLAIN)
    };
    let threads = page(KeyCode::Tab);
    assert!(threads.contains("TID S   CPU%"), "{threads}");
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    assert!(threads.contains(&own), "{own}: {threads}");
    let files = page(KeyCode::Tab);
    assert!(files.contains("open\\x1b[2J"), "{files}");
    let limits = page(KeyCode::Tab);
    assert!(limits.contains("Max open files"), "{limits}");
    page(KeyCode::Tab);
    let environment = std::fs::read_to_string("/proc/self/environ").unwrap();
    let (first, _) = environment.split_once('=').unwrap();
    // A thread reads it, which a busy machine may delay.
    testkit::wait_until("the environment", || {
        app.tick().unwrap();
        draw(&mut app, 300, 100, PLAIN).contains(&format!("{first}="))
    });
    let overview = {
        app.event(&Event::Key(KeyCode::Tab.into())).unwrap();
        draw(&mut app, 120, 100, PLAIN)
    };
    assert!(overview.contains("cgroup") && overview.contains("CPU%      now"), "{overview}");
}

#[test]
fn columns_are_chosen_moved_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Some(folder.path().join("whit/top.columns"));
    let settings = || ListSettings { kept: kept.clone(), ..ListSettings::default() };
    let mut made = TestMachine::new(settings());
    made.process(1, 0, 50, 8, &[("command", b"init")]);
    made.tick();
    made.key(KeyCode::F(2));
    let text = made.draw(80, 40);
    assert!(text.contains("[x] pid     Process ID"), "{text}");
    assert!(text.contains("[ ] start   Start time"), "{text}");
    // The user goes, the pid comes second.
    made.key(KeyCode::Down);
    made.keys(" --+");
    made.key(KeyCode::Enter);
    assert_eq!(made.app.notice.as_deref(), Some("the columns are kept"));
    made.app.notice = None;
    let titles = |made: &mut TestMachine| {
        made.draw(80, 20).lines().find(|line| line.contains("COMMAND")).unwrap().to_owned()
    };
    let chosen = titles(&mut made);
    assert!(!chosen.contains("USER") && chosen.contains("PID"), "{chosen}");
    let mut again = TestMachine::new(settings());
    again.tick();
    assert_eq!(titles(&mut again), chosen, "the next one begins with them");
    made.key(KeyCode::F(2));
    made.keys("0");
    made.key(KeyCode::Enter);
    assert!(titles(&mut made).contains("PID USER"));
}

#[test]
fn processes_are_tagged_and_commands_moved() {
    let mut made = hostile();
    made.process(
        107,
        1,
        1,
        1,
        &[("command", b"java"), ("command_line", b"/opt/jdk/bin/java -jar x.jar")],
    );
    made.tick();
    assert!(made.draw(80, 24).contains(" java -jar x.jar"));
    made.keys("p");
    assert!(made.draw(80, 24).contains(" /opt/jdk/bin/java"));
    made.keys("p");
    made.key(KeyCode::Right);
    assert!(made.draw(80, 24).contains(" r x.jar"), "{}", made.draw(80, 24));
    made.key(KeyCode::Left);
    made.key(KeyCode::Home);
    made.keys(" ");
    assert_eq!(made.app.list.tagged.len(), 1);
    assert!(made.draw(80, 24).contains("1 tagged"));
    made.keys("U");
    assert!(made.app.list.tagged.is_empty());
    made.keys(" ");
    // The tag of a process that has ended goes.
    made.process(108, 1, 1, 1, &[]);
    made.tick();
    assert!(made.app.list.tagged.is_empty());
}

#[test]
fn tagged_processes_get_the_signal() {
    let mut children: Vec<_> =
        (0..2).map(|_| std::process::Command::new("sleep").arg("60").spawn().unwrap()).collect();
    let pids = children.iter().map(|child| child.id().cast_signed()).collect();
    let settings = ListSettings { pids, ..ListSettings::default() };
    let live = open_live(std::path::Path::new("/"), &settings);
    let feed = SampleFeed::Live(Box::new(live));
    let mut app = App::new(feed, Meta::new(), TimeZone::UTC, settings);
    app.tick().unwrap();
    for key in [KeyCode::Home, KeyCode::Char(' '), KeyCode::Char(' '), KeyCode::F(8)] {
        app.event(&Event::Key(key.into())).unwrap();
    }
    assert_eq!(app.notice.as_deref(), Some("nice +1 for 2 of 2 processes"));
    app.event(&Event::Key(KeyCode::F(9).into())).unwrap();
    let asked = draw(&mut app, 80, 24, PLAIN);
    assert!(asked.contains("Signal to 2 tagged processes"), "{asked}");
    for key in [KeyCode::Enter, KeyCode::Char('y')] {
        app.event(&Event::Key(key.into())).unwrap();
    }
    assert_eq!(app.notice.as_deref(), Some("TERM to 2 of 2 processes"));
    for child in &mut children {
        use std::os::unix::process::ExitStatusExt as _;
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    }
}

#[test]
fn no_number_of_the_machine_is_cut() {
    let mut made = hostile();
    let whole = made.draw(200, 24);
    let words: Vec<&str> = whole.lines().take(6).flat_map(str::split_whitespace).collect();
    for width in 40..200 {
        let text = made.draw(width, 24);
        for line in text.lines().take(6) {
            for word in line.split_whitespace() {
                assert!(words.contains(&word), "{width}: {word}: {text}");
            }
        }
    }
}

#[test]
fn the_help_and_the_last_line_show_whole_words() {
    let folder = tempfile::tempdir().unwrap();
    let (recorded, meta) = open_recording(&recording(folder.path()), TimeZone::UTC).unwrap();
    let feed = SampleFeed::Recorded(Box::new(recorded));
    for mut app in [hostile().app, App::new(feed, meta, TimeZone::UTC, ListSettings::default())] {
        let is_recorded = app.is_recorded();
        let bottom = |app: &mut App, width| -> Vec<String> {
            let text = draw(app, width, 24, PLAIN);
            text.lines().last().unwrap().split("  ").map(str::to_owned).collect()
        };
        let whole = bottom(&mut app, 200);
        for width in 20..120 {
            let shown = bottom(&mut app, width);
            assert!(whole.starts_with(&shown), "{width}: {shown:?}");
        }
        for (width, height) in [(44, 12), (60, 24), (80, 24), (120, 60)] {
            app.prompt = Prompt::Help { first: 0 };
            let mut seen = draw(&mut app, width, height, PLAIN);
            for _ in super::keys::HELP {
                app.event(&Event::Key(KeyCode::Down.into())).unwrap();
                seen.push_str(&draw(&mut app, width, height, PLAIN));
            }
            let words: Vec<&str> = seen.split_whitespace().collect();
            let is_here = |only: Option<bool>| only.is_none_or(|only| only == is_recorded);
            for (keys, about, _) in super::keys::HELP.iter().filter(|line| is_here(line.2)) {
                let mut all = keys.split_whitespace().chain(about.split_whitespace());
                assert!(all.all(|word| words.contains(&word)), "{width}: {about}: {seen}");
            }
        }
    }
}
