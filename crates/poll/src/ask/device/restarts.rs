//! The counters of a device beside those of the round before.

use super::{AskedDevice, WantedObject, answers};
use crate::ask::counters::{self, Count, Growth};

impl AskedDevice {
    /// Compares counters with the round before; asks about those that may have wrapped.
    pub(super) fn compare_counters(&mut self) {
        let growth = |(one, before): (&WantedObject, &WantedObject)| {
            let pair = one.count.zip(before.count).filter(|_| one.oid == before.oid);
            pair.map_or(Growth::Forward, |(now, before)| now.growth(before))
        };
        let all: Vec<Growth> =
            self.objects.list.iter().zip(&self.objects.previous).map(growth).collect();
        if all.iter().all(|growth| *growth == Growth::Forward) {
            return;
        }
        let is_restarted = self.restarts.is_restarted();
        let mut asked = Vec::new();
        for (place, growth) in all.into_iter().enumerate() {
            self.objects.list[place].was_reset = growth == Growth::Reset;
            if growth == Growth::Back && !is_restarted && self.restarts.uptimes().is_some() {
                asked.push(place);
            }
        }
        if is_restarted {
            for one in &mut self.objects.list {
                one.was_reset = one.count.is_some_and(Count::is_counter);
            }
        } else if !self.restarts.has_no_discontinuities {
            self.ask_discontinuities(&asked);
        }
    }

    fn ask_discontinuities(&mut self, counters: &[usize]) {
        let mut open = Vec::new();
        for &place in counters {
            let oid = counters::discontinuity(self.objects.list[place].oid.as_ref());
            if let Some(asked) = self.objects.place(oid) {
                self.restarts.suspects.push((place, asked));
                if !open.contains(&asked) && self.objects.list[asked].value.is_none() {
                    open.push(asked);
                }
            }
        }
        self.put_into_requests(&open);
    }

    /// Says what the interfaces of suspect counters say, and how many counters were reset.
    pub(super) fn judge_counters(&mut self, say: &mut dyn FnMut(String)) {
        let Some((before, now)) = self.restarts.uptimes() else { return };
        for (place, asked) in std::mem::take(&mut self.restarts.suspects) {
            match self.objects.list[asked].count {
                Some(count) => {
                    self.objects.list[place].was_reset = counters::is_between(count, before, now);
                }
                None => self.restarts.has_no_discontinuities |= self.round.error.is_none(),
            }
        }
        let count = self.objects.list.iter().filter(|one| one.was_reset).count();
        let ago = || answers::time_ticks(now.ticks);
        match (self.restarts.is_restarted(), count) {
            (true, 0) => say(format!(
                "{}: its agent was started again {} ago, its counters go on",
                self.settings.text,
                ago()
            )),
            (true, count) => say(format!(
                "{}: was started again {} ago: {count} counters have begun anew, so what they grew by is unknown",
                self.settings.text,
                ago()
            )),
            (false, 0) => {}
            (false, count) => say(format!(
                "{}: {count} counters have begun anew, so what they grew by is unknown",
                self.settings.text
            )),
        }
    }
}
