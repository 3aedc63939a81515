//! What the proxy tells its clients, on the status pages of their process files: how it stands, what
//! cannot be delivered, and that marks have moved which a `flush` waits for.
//!
//! A page is written when something on it changes.  Clients sleep on its number: without a `flush`
//! under way, progress alone wakes nobody.

use logring::ConsumerState;

use super::Proxy;
use super::host::Source;
use log_protocol::StreamId;

/// How the proxy stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) state: ConsumerState,
    /// `errno`, or 0.
    pub(super) errno: u32,
    /// Why, in words.
    pub(super) text: String,
    /// Changes with the rest.
    version: u64,
}

impl Standing {
    pub(super) fn new() -> Self {
        Standing { state: ConsumerState::None, errno: 0, text: String::new(), version: 0 }
    }

    /// Takes a new state; whether it is another.
    pub(super) fn set(&mut self, state: ConsumerState, errno: u32, text: &str) -> bool {
        if (self.state, self.errno) == (state, errno) && self.text == text {
            return false;
        }
        let version = self.version + 1;
        *self = Standing { state, errno, text: text.to_owned(), version };
        true
    }
}

/// Records that cannot be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Undelivered {
    pub(super) stream: StreamId,
    pub(super) first: u64,
    pub(super) next: u64,
    /// Why, as `errno`.
    pub(super) errno: u32,
}

/// Ranges that wait for their processes to be found; more belong to processes that are gone.
const WAITING_MAX: usize = 4096;

impl Proxy {
    /// Tells every process what it has not been told yet.
    pub(super) fn tell(&mut self) {
        self.find_standing();
        for source in self.host.sources.values_mut() {
            source.tell(&self.standing);
        }
        self.tell_undelivered();
    }

    fn find_standing(&mut self) {
        if let Some((errno, text)) = &self.refusal {
            self.standing.set(ConsumerState::Full, *errno, text);
        } else if let Some((errno, text)) = &self.sync_failure {
            self.standing.set(ConsumerState::Degraded, *errno, text);
        } else if let Some((errno, text)) = self.local.failure() {
            // Without a central server nothing else takes the records, so rings fill up.
            let state = match self.settings.central {
                Some(_) => ConsumerState::Degraded,
                None => ConsumerState::Full,
            };
            self.standing.set(state, errno, text);
        } else {
            let Some(central) = &self.settings.central else {
                self.standing.set(ConsumerState::InProcess, 0, "");
                return;
            };
            let state = match self.link.is_open() {
                true => ConsumerState::Connected,
                false => ConsumerState::Spooling,
            };
            let text = self.link.failure.as_deref().unwrap_or_default();
            if !text.is_empty() && self.standing.text != text {
                self.messages.push(format!(
                    "records are kept in the spool, for the central server at {central}: {text}"
                ));
            } else if state == ConsumerState::Connected && !self.standing.text.is_empty() {
                self.messages.push(format!("the central server at {central} takes records"));
            }
            self.standing.set(state, 0, text);
        }
    }

    /// Names records that cannot be delivered, once their process is found.
    fn tell_undelivered(&mut self) {
        if self.undelivered.is_empty() {
            return;
        }
        let sources = &mut self.host.sources;
        self.undelivered.retain(|lost| {
            let Some(source) = sources.get_mut(&lost.stream.process) else { return true };
            let last = lost.next.saturating_sub(1);
            // A file that cannot be written has no clients to be told.
            let _ = source.file.add_undeliverable(lost.stream.ring, lost.errno, lost.first, last);
            false
        });
        if self.undelivered.len() > WAITING_MAX {
            self.undelivered.drain(..self.undelivered.len() - WAITING_MAX);
        }
    }
}

impl Source {
    /// Tells one process how the proxy stands; else wakes a `flush` whose marks have moved.
    fn tell(&mut self, standing: &Standing) {
        let has_moved = std::mem::take(&mut self.has_moved);
        if self.told != Some(standing.version) {
            self.told = Some(standing.version);
            // A file that cannot be written has no clients to be told.
            let _ = self.file.set_state(standing.state, standing.errno, &standing.text);
        } else if has_moved && self.file.flush_wanted().is_ok_and(|tier| tier != 0) {
            let _ = self.file.announce();
        }
    }
}
