//! Signals and nice values: to the tagged processes, else to the selected one.

use crate::app::{App, Prompt, SampleFeed};
use crate::kill::{self, SignalOutcome, Target};

impl App {
    /// Why processes of this feed cannot be changed.
    fn refusal(&self, what: &str) -> Option<String> {
        match &self.feed {
            SampleFeed::Recorded(_) => Some(format!("a recording's processes cannot get {what}")),
            SampleFeed::Remote(_) => Some(format!("processes of another host cannot get {what}")),
            SampleFeed::Live(_) if self.root.as_os_str() != "/" => {
                Some(format!("processes under --root cannot get {what}"))
            }
            _ => None,
        }
    }

    /// The processes that keys change; `None` is told.
    fn targets(&mut self, what: &str) -> Option<Vec<Target>> {
        let targets = self.list.targets(&self.readings.values());
        self.notice = self.refusal(what);
        if self.notice.is_none() && self.list.selected.is_none() && self.list.tagged.is_empty() {
            self.notice =
                Some("select a process first, with Up or Down, or tag some, with Space".to_owned());
        } else if self.notice.is_none() && targets.is_empty() {
            self.notice = Some("the selected line is not a running process".to_owned());
        }
        self.notice.is_none().then_some(targets)
    }

    /// Asks which signal to send.
    pub(crate) fn ask_signal(&mut self) {
        if let Some(targets) = self.targets("signals") {
            self.prompt = Prompt::Signal { targets, chosen: 0 };
        }
    }

    /// Sends a signal, and tells what came of it.
    pub(crate) fn signal(&mut self, targets: &[Target], chosen: usize) {
        let (name, signal) = kill::SIGNALS[chosen];
        let one = |target: &Target| kill::send(target.pid, target.start, signal);
        self.tell(&format!("{name} to"), targets, one);
    }

    /// Makes processes nicer by `step`, or less nice.
    pub(crate) fn renice(&mut self, step: i32) {
        let Some(targets) = self.targets("nice values") else { return };
        let one = |target: &Target| kill::renice(target.pid, target.start, step);
        self.tell(&format!("nice {step:+} for"), &targets, one);
    }

    fn tell(&mut self, what: &str, targets: &[Target], one: impl Fn(&Target) -> SignalOutcome) {
        let outcomes: Vec<SignalOutcome> = targets.iter().map(one).collect();
        let done = outcomes.iter().filter(|outcome| **outcome == SignalOutcome::Sent).count();
        self.notice = Some(match (targets, &outcomes[..]) {
            ([target], [outcome]) => format!("{what} {}: {outcome}", target.pid),
            (targets, outcomes) => {
                let failed = outcomes.iter().find(|outcome| **outcome != SignalOutcome::Sent);
                let failed =
                    failed.map_or_else(String::new, |why| format!("; the first failure: {why}"));
                format!("{what} {} of {} processes{failed}", done, targets.len())
            }
        });
    }
}
