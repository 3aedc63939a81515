//! What happens to samples once they are read: history, rates and every view, over numbers that
//! no kernel would give.

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use layout::Options;
use sample::{History, Meta, Snapshot, SourceDef};
use view::{Setup, View};

/// Most bytes that the views may write for one tick of these inputs: far above what any needs,
/// far below what would harm.
const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;

static SETUP: LazyLock<Setup> = LazyLock::new(|| Setup::of(TimeZone::UTC));

/// Shows ticks in every view.
pub struct Show {
    meta: Meta,
    options: Options,
    history: History,
    views: Vec<Box<dyn View>>,
    out: Vec<u8>,
}

impl Show {
    /// Opens every view for a feed of these sources, all their letters shown.
    pub fn new(meta: &Meta, defs: &[std::sync::Arc<SourceDef>], exact: bool) -> Self {
        let options = Options {
            subsystems: defs.iter().map(|def| &*def.letters).collect::<String>().as_str().into(),
            exact,
            separator: " ".to_owned(),
            layouts: layout::LayoutLookup(source::layouts_of),
            ..Options::default()
        };
        let mut views: Vec<_> = view::ALL.iter().map(|entry| (entry.open)(&SETUP)).collect();
        let setting = view::export::Setting { playing: true, ..Default::default() };
        for name in ["lexpr", "vmstat"] {
            if let Ok(export) = view::export::open(name, &[], &SETUP, &setting) {
                views.push(export.view);
            }
        }
        let mut out = Vec::new();
        // One that has nothing to show of these sources says so.
        views.retain_mut(|view| view.begin(meta, defs, &options, &mut out).is_ok());
        Show { meta: meta.clone(), options, history: History::new(defs), views, out }
    }

    /// One tick.
    pub fn tick(&mut self, snapshot: &mut Snapshot) {
        for sample in &snapshot.samples {
            assert_eq!(sample.table.values().len(), sample.table.rows() * sample.table.width());
        }
        self.history.push(snapshot);
        if self.history.ticks() < 2 {
            return;
        }
        let frame = layout::Frame::new(&self.history, &self.meta, &self.options);
        self.out.clear();
        for view in &mut self.views {
            view.frame(&frame, &mut self.out).expect("memory takes everything");
            assert!(self.out.len() <= OUTPUT_BYTES_MAX, "one tick made {} bytes", self.out.len());
        }
    }

    /// No tick follows.
    pub fn end(mut self) {
        for view in &mut self.views {
            view.end(&mut self.out).expect("memory takes everything");
        }
    }
}
