//! Keys of any kind over a few records, for fuzz targets: the viewer goes on and draws, whatever is typed,
//! on a screen of any size.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use log_format::LogZone;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use terminal::Theme;

use crate::acs_file;
use crate::app::{App, NextStep};
use crate::asked::{Prompt, Question};
use crate::filters::{NamedFilters, ShownRecords};
use crate::screen;
use crate::store::StoreOrigin;

/// Keys of an input at most: each may read all records.
const KEYS_MAX: usize = 64;
/// The file of the records: with all levels, two hosts, and a text that is hostile.
const RECORDS: &str = concat!(
    "<?xml version=\"1.0\"?>\n<Log>\n",
    "<Info TimeStamp=\"2026-01-01T00:00:01.000\" Host=\"oak\" Process=\"bulk\" Thread=\"main\" ",
    "SourceObject=\"CONTROL/DV01\" Antenna=\"DV01\"><![CDATA[mount is ready]]></Info>\n",
    "<Warning TimeStamp=\"2026-01-01T00:00:02.000\" Host=\"elm\"><![CDATA[disk \u{1b}[2J\u{202e}full\n",
    "of it]]></Warning>\n",
    "<Error TimeStamp=\"2026-01-02T00:00:03.000\" Host=\"oak\"><![CDATA[日本語 lost]]></Error>\n</Log>\n",
);

/// A store of these records, and the file of filters that are kept.
struct GeneratedStore {
    scratch: tempfile::TempDir,
    store: tempfile::TempDir,
}

impl GeneratedStore {
    fn new() -> std::io::Result<Self> {
        let scratch = tempfile::tempdir()?;
        let path = scratch.path().join("records.xml");
        std::fs::write(&path, RECORDS)?;
        let read = acs_file::read(&path, scratch.path(), &|| false);
        let read = read.map_err(std::io::Error::other)?;
        Ok(GeneratedStore { scratch, store: read.folder })
    }

    fn filters(&self) -> PathBuf {
        self.scratch.path().join("filters")
    }
}

thread_local! {
    static MADE: std::io::Result<GeneratedStore> = GeneratedStore::new();
}

/// Presses the keys that bytes stand for: width and height of the screen, then a key for each.
///
/// # Panics
/// If the viewer has a fault, or the records cannot be made.
pub fn keys(bytes: &[u8]) {
    let Some(([width, height], bytes)) = bytes.split_first_chunk() else { return };
    let area = Rect::new(0, 0, u16::from(*width), u16::from(*height % 64));
    MADE.with(|made| {
        let made = made.as_ref().expect("the records of the target cannot be made");
        // What an input keeps is not there for the next.
        let _ = std::fs::remove_file(made.filters());
        press(made.store.path(), &made.filters(), area, bytes);
    });
}

fn press(store: &Path, filters: &Path, area: Rect, bytes: &[u8]) {
    let named = NamedFilters::read(filters).expect("no filters are kept");
    let origin = StoreOrigin::new(store, "records".to_owned(), true);
    let present = |zone: &TimeZone| Timestamp::UNIX_EPOCH.to_zoned(zone.clone());
    let zones = (TimeZone::UTC, LogZone::default(), present as crate::app::Present);
    let mut app = App::new(Box::new(origin), (ShownRecords::default(), named), zones);
    app.newest(&|| false).expect("a sound store is read");
    for byte in bytes.iter().take(KEYS_MAX) {
        let key = key(*byte);
        let is_export = matches!(app.prompt, Prompt::Typed { question: Question::Export, .. });
        if is_export && key.code == KeyCode::Enter {
            // It would write any file.
            app.prompt = Prompt::None;
        }
        let next = app.event(&Event::Key(key), &|| false).expect("a sound store is read");
        draw(&mut app, area);
        if next == NextStep::Quit {
            return;
        }
    }
}

fn draw(app: &mut App, area: Rect) {
    let mut buffer = Buffer::empty(area);
    screen::draw(app, &mut buffer, Theme { colour: false, ascii: false });
    screen::busy(&mut buffer, Theme { colour: true, ascii: true });
    let mut symbols = buffer.content.iter().map(Cell::symbol);
    assert!(symbols.all(|symbol| !symbol.chars().any(char::is_control)), "a control character");
}

/// The key of a byte: ASCII stands for itself, the others for keys without a letter and some letters.
fn key(byte: u8) -> KeyEvent {
    const OTHERS: [KeyCode; 20] = [
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::Backspace,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Delete,
        KeyCode::F(1),
        KeyCode::F(3),
        KeyCode::F(4),
        KeyCode::Char('語'),
        KeyCode::Char('\u{202e}'),
        KeyCode::Char('\u{301}'),
        KeyCode::Null,
    ];
    match byte {
        b'\n' => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
        0x1b => KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE),
        1..=26 => KeyEvent::new(KeyCode::Char(char::from(byte + b'a' - 1)), KeyModifiers::CONTROL),
        ..0x80 => KeyEvent::new(KeyCode::Char(char::from(byte)), KeyModifiers::NONE),
        _ => KeyEvent::new(OTHERS[usize::from(byte) % OTHERS.len()], KeyModifiers::NONE),
    }
}
