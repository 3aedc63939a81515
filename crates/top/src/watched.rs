//! The process that is shown in place of the list: opened, kept up to date, and what keys do there.

use crate::app::{App, SampleFeed};
use crate::detail::Detail;
use crate::keys::DetailKey;
use crate::values::ListItem;

impl App {
    /// A key on the screen of one process.
    pub(crate) fn detail_key(&mut self, key: DetailKey) {
        let page = self.page.max(1);
        let Some(detail) = &mut self.detail else { return };
        match key {
            DetailKey::Close => self.detail = None,
            DetailKey::Turn(step) => {
                detail.turn(step);
                detail.read(&self.readings.values());
            }
            DetailKey::Scroll(lines) => detail.first = detail.first.saturating_add_signed(lines),
            DetailKey::Page(pages) => {
                let lines = pages.saturating_mul(page.cast_signed());
                detail.first = detail.first.saturating_add_signed(lines);
            }
            DetailKey::First => detail.first = 0,
            DetailKey::Last => detail.first = usize::MAX / 2,
        }
    }

    /// Shows the selected process alone.
    pub(crate) fn open(&mut self) {
        let values = self.readings.values();
        let Some(ListItem::Process(row)) =
            self.list.selection(&values).filter(|_| self.list.selected.is_some())
        else {
            self.notice = Some("select a running process first, with Up or Down".to_owned());
            return;
        };
        let root = matches!(self.feed, SampleFeed::Live(_)).then_some(&*self.root);
        self.detail = Detail::new(&row, root);
        if let Some(detail) = &mut self.detail {
            detail.note(&values);
            detail.read(&values);
        }
    }

    /// Takes a sample for the process that is shown alone; after a jump its history begins anew.
    pub(crate) fn watch(&mut self, jumped: bool) {
        let values = self.readings.values();
        if let Some(detail) = &mut self.detail {
            if jumped {
                detail.history.clear();
            }
            detail.note(&values);
            detail.read(&values);
        }
    }
}
