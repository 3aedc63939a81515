//! The whole viewer without a terminal: files of ACS's XML, drawn into a buffer.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use log_format::LogZone;
use log_store::query::Filter;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use terminal::Theme;

use crate::acs_file::{self, PassedRecords};
use crate::app::{App, NextStep};
use crate::asked::Prompt;
use crate::error::ViewError;
use crate::filters::{NamedFilters, ShownRecords};
use crate::screen;

const PLAIN: Theme = Theme { colour: false, ascii: false };

/// A viewer of a file, with the folders it needs.
struct TestViewer {
    app: App,
    passed: PassedRecords,
    folder: tempfile::TempDir,
    _store: tempfile::TempDir,
}

/// A record of the file: its level, second of the day, attributes and text.
fn element(level: &str, second: u32, attributes: &str, text: &str) -> String {
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "<{level} TimeStamp=\"2026-01-01T{hour:02}:{minute:02}:{second:02}.000\" {attributes}>\
         <![CDATA[{text}]]></{level}>\n"
    )
}

impl TestViewer {
    fn new(records: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.xml");
        std::fs::write(&path, format!("<?xml version=\"1.0\"?>\n<Log>\n{records}</Log>\n"))
            .unwrap();
        Self::of(folder, &path).unwrap()
    }

    fn of(folder: tempfile::TempDir, path: &Path) -> Result<Self, ViewError> {
        let file = acs_file::read(path, folder.path(), &|| false)?;
        let named = NamedFilters::read(&folder.path().join("kept/filters"))?;
        let present = |zone: &TimeZone| {
            "2026-01-02T00:00Z".parse::<jiff::Timestamp>().unwrap().to_zoned(zone.clone())
        };
        let zones = (TimeZone::UTC, LogZone::default(), present as crate::app::Present);
        let mut app = App::new(Box::new(file.origin), (ShownRecords::default(), named), zones);
        app.newest(&|| false)?;
        Ok(TestViewer { app, passed: file.passed, folder, _store: file.folder })
    }

    fn press(&mut self, code: KeyCode) -> NextStep {
        let event = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        self.app.event(&event, &|| false).unwrap()
    }

    /// Types letters; `\r` is the return key, `\x1b` the escape key, `\t` the tabulator.
    fn keys(&mut self, letters: &str) {
        for letter in letters.chars() {
            self.press(match letter {
                '\r' => KeyCode::Enter,
                '\x1b' => KeyCode::Esc,
                '\t' => KeyCode::Tab,
                letter => KeyCode::Char(letter),
            });
        }
    }

    fn draw(&mut self, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen::draw(&mut self.app, frame.buffer_mut(), PLAIN)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let line = |y| {
            let symbols = (0..width).map(|x| buffer[(x, y)].symbol());
            let line: String = symbols.collect();
            assert!(!line.chars().any(char::is_control), "{line:?} reaches the terminal");
            line.trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }

    fn chosen(&self) -> &str {
        &self.app.window.rows[self.app.window.cursor].text
    }

    fn notice(&self) -> &str {
        self.app.notice.as_deref().unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

const ORIGIN: &str = "File=\"a.cpp\" Line=\"7\" Routine=\"run\" Host=\"oak\" Process=\"bulk\" \
                      Thread=\"main\" SourceObject=\"CONTROL/DV01\"";

/// A few records, one of them hostile, an element of another kind and one without a time.
fn small() -> TestViewer {
    let mut text = element("Info", 1, ORIGIN, "mount is ready");
    text += &element(
        "Warning",
        2,
        "Host=\"elm\" SourceObject=\"CORR\"",
        "disk \u{1b}[2J\u{202e}full\nof it",
    );
    text += "<Archive TimeStamp=\"2026-01-01T00:00:02\"/>\n<Info>no time</Info>\n";
    text += &element("Debug", 3, ORIGIN, "日本語 bytes");
    text += &element("Error", 4, &format!("{ORIGIN} Antenna=\"DV01\" Priority=\"10\""), "lost");
    TestViewer::new(&text)
}

#[test]
fn a_screen_shows_what_it_has_room_for() {
    let mut made = small();
    assert_eq!(made.passed, PassedRecords { records: 4, others: 1, malformed: 1 });
    let titles = |made: &mut TestViewer, width| {
        let lines = made.draw(width, 12);
        assert!(lines[0].ends_with("a.xml  all records") || width < 80, "{}", lines[0]);
        lines[1].split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(titles(&mut made, 60), "TIME LEVEL TEXT");
    assert_eq!(titles(&mut made, 80), "TIME LEVEL LOGGER TEXT");
    assert_eq!(titles(&mut made, 100), "TIME LEVEL PROCESS LOGGER TEXT");
    assert_eq!(titles(&mut made, 200), "TIME LEVEL HOST PROCESS THREAD LOGGER TEXT");
    let lines = made.draw(200, 12);
    assert!(
        lines[2].starts_with("2026-01-01 00:00:01.000 INFO      oak          bulk[0]"),
        "{}",
        lines[2]
    );
    assert!(lines[3].ends_with(r"disk \x1b[2J\xe2\x80\xaefull\nof it"), "{}", lines[3]);
    // The priority of a record is above that of its element.
    assert!(lines[5].contains("ALERT") || lines[5].contains("CRITICAL"), "{}", lines[5]);
    for (width, height) in [(1, 1), (3, 2), (20, 3), (60, 5)] {
        made.keys("?");
        made.draw(width, height);
        made.keys("\r\r");
        made.draw(width, height);
        made.keys("\x1b");
    }
    // Host and level are hidden by the list of columns.
    made.keys("c");
    made.press(KeyCode::Down);
    made.keys("\r");
    made.press(KeyCode::Down);
    made.keys("\r\x1b");
    assert_eq!(titles(&mut made, 200), "TIME PROCESS THREAD LOGGER TEXT");
}

#[test]
fn the_last_line_has_the_keys_that_fit_and_says_what_takes_long() {
    let mut made = small();
    assert_eq!(made.draw(40, 6)[5], "?help  q end  / search  l level  t text");
    assert!(made.draw(200, 6)[5].ends_with(
        "S counts  Enter all of it  n N next match  \
                                            x all records  h host  p process  c columns  e export"
    ));
    made.draw(5, 6);
    for (width, height, said) in [(40, 6, "reading; Esc ends it"), (9, 2, "reading;"), (3, 1, "")] {
        let area = ratatui_core::layout::Rect::new(0, 0, width, height);
        let mut buffer = ratatui_core::buffer::Buffer::filled(area, 'x'.into());
        screen::busy(&mut buffer, PLAIN);
        let last = height - 1;
        let line: String = (0..width).map(|x| buffer[(x, last)].symbol()).collect();
        assert!(line.trim_end().starts_with(said), "{line}");
        assert_eq!(line.contains('x'), height < 2, "{line}");
    }
}

#[test]
fn filters_are_typed_kept_and_taken_again() {
    let mut made = small();
    made.keys("tDISK\r");
    assert_eq!(made.app.window.rows.len(), 1);
    made.keys("sdisks\r");
    assert_eq!(made.notice(), "kept as disks; f lists what is kept");
    made.keys("x");
    assert_eq!(made.app.window.rows.len(), 4);
    made.keys("oCONTROL/*\r");
    assert_eq!(made.app.window.rows.len(), 3);
    made.keys("t/^(mount|lost)/\r");
    assert_eq!(made.app.window.rows.len(), 2);
    let read = NamedFilters::read(&made.path("kept/filters")).unwrap();
    assert_eq!(read.filters[0].1.words(), "text DISK");
    made.keys("f\r");
    assert_eq!((made.app.shown.words().as_str(), made.app.window.rows.len()), ("text DISK", 1));
    made.keys("fd");
    assert!(NamedFilters::read(&made.path("kept/filters")).unwrap().filters.is_empty());
    made.keys("xt/(/\r");
    assert!(made.notice().contains("unclosed group"), "{}", made.notice());
    made.keys("s[\r");
    assert!(made.notice().contains("no bracket"), "{}", made.notice());
    std::fs::write(made.path("kept/filters"), "[a]\nlevel = LOUD\n").unwrap();
    let said = NamedFilters::read(&made.path("kept/filters")).unwrap_err().to_string();
    assert!(said.ends_with("filters: line 2: LOUD is no level"), "{said}");
}

#[test]
fn counts_are_of_what_is_shown_and_choose() {
    let mut made = small();
    made.keys("S");
    let lines = made.draw(100, 14).join("\n");
    assert!(lines.contains("4 records by logger"), "{lines}");
    assert!(lines.contains("3  75.0 %  CONTROL/DV01"), "{lines}");
    made.keys("\t\t");
    assert!(made.draw(100, 14).join("\n").contains("3  75.0 %  oak"));
    made.press(KeyCode::Down);
    made.keys("\r");
    assert_eq!(
        (made.app.shown.words().as_str(), made.chosen()),
        ("host elm", r"disk \x1b[2J\xe2\x80\xaefull\nof it")
    );
}

#[test]
fn what_is_shown_is_exported_in_each_form() {
    let mut made = small();
    made.keys("oCONTROL/*\r");
    for (name, has) in [
        ("out.txt", "INFO CONTROL/DV01 bulk[0]/main a.cpp:7 mount is ready"),
        ("out.json", "\"message\":\"mount is ready\""),
        ("out.csv", "mount is ready"),
        ("out.xml", "<![CDATA[mount is ready]]></Info>"),
        ("out.syslog", "mount is ready"),
    ] {
        let path = made.path(name);
        made.keys(&format!("e{}\r", path.display()));
        assert!(made.notice().starts_with("3 records written to "), "{}", made.notice());
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(has) && !text.contains("disk"), "{name}: {text}");
    }
    let path = made.path("out.txt");
    made.keys(&format!("e{}\r", path.display()));
    assert!(made.notice().contains("File exists"), "{}", made.notice());
    made.keys("enothing\r");
    assert!(made.notice().starts_with("end the name in .txt"), "{}", made.notice());
}

/// So many records that the window does not hold them: all are met, in both directions, once each.
#[test]
fn a_window_moves_over_all_records() {
    const RECORDS: u32 = 4500;
    let mut text = String::new();
    for number in 0..RECORDS {
        // Some have the same time, and some are late.
        let second = (number / 3).saturating_sub(number % 50);
        let level = if number % 100 == 7 { "Warning" } else { "Info" };
        let _ = write!(text, "{}", element(level, second, ORIGIN, &format!("number {number:04}")));
    }
    let mut made = TestViewer::new(&text);
    made.draw(80, 24);
    let mut met = vec![made.app.window.key().unwrap()];
    loop {
        made.press(KeyCode::Up);
        let key = made.app.window.key().unwrap();
        if Some(&key) == met.last() {
            break;
        }
        met.push(key);
        assert!(made.app.window.rows.len() <= 3000);
    }
    assert_eq!(met.len(), RECORDS as usize);
    assert!(met.is_sorted_by(|later, earlier| earlier < later));
    let mut pages = 1;
    while made.app.window.key() != Some(met[0]) {
        made.press(KeyCode::PageDown);
        made.draw(80, 24);
        pages += 1;
        assert!(pages < 1000);
    }
    made.keys("g");
    assert_eq!(made.app.window.key(), met.last().copied());
    made.keys("/number 4444\r");
    assert_eq!(made.chosen(), "number 4444");
    made.keys("n");
    assert_eq!(made.notice(), "not found after this record: number 4444; N searches before it");
    made.keys("g//777$/\r");
    let first = made.chosen().to_owned();
    made.keys("nnN");
    assert!(made.chosen().ends_with("777") && made.chosen() != first, "{first}");
    made.keys("N");
    assert_eq!(made.chosen(), first);
    // The first from that second on.
    made.keys("a2026-01-01T00:10:00Z\r");
    let at = made.app.window.key().unwrap().time_ns;
    assert_eq!(at % 86_400_000_000_000, 600_000_000_000);
    made.keys("l");
    assert!(matches!(made.app.prompt, Prompt::Level { chosen: 0 }));
    for _ in 0..6 {
        made.press(KeyCode::Down);
    }
    made.keys("\r");
    assert_eq!(made.app.shown.words(), "level WARNING");
    // Another filter stays near the time.
    assert!(made.app.window.key().unwrap().time_ns >= at);
    made.keys("S");
    let Prompt::Statistics { counted, .. } = &made.app.prompt else { panic!("no counts") };
    assert_eq!(counted.records, u64::from(RECORDS) / 100);
    made.keys("\x1bF");
    assert!(made.notice().contains("nothing new comes to a file"));
}

/// A file that ends anywhere, or has anything in it, gives the records before that.
#[test]
fn a_file_that_is_cut_gives_what_is_whole() {
    let whole =
        format!("<Log>{}{}", element("Info", 1, ORIGIN, "one"), element("Info", 2, ORIGIN, "two"));
    let first = whole.find("</Info>").unwrap() + "</Info>".len();
    for cut in (first..whole.len()).step_by(7) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.xml");
        std::fs::write(&path, &whole[..cut]).unwrap();
        let made = TestViewer::of(folder, &path).unwrap();
        assert_eq!(made.passed.records, 1, "{cut}");
        assert_eq!(made.chosen(), "one");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xml");
    std::fs::write(&path, "<html><body>none</body></html>").unwrap();
    assert!(matches!(TestViewer::of(folder, &path), Err(ViewError::NoRecords(_))));
}

#[test]
fn a_search_that_is_ended_says_so_and_keeps_the_screen() {
    let mut made = small();
    let event = |letter| Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
    made.app.searched = "mount".to_owned();
    made.app.event(&event('N'), &|| true).unwrap();
    assert_eq!((made.notice(), made.chosen()), ("interrupted", "lost"));
    made.app.event(&event('N'), &|| false).unwrap();
    assert_eq!(made.chosen(), "mount is ready");
    made.app.shown = ShownRecords { filter: Filter::default(), typed: String::new() };
}
