//! The counters of a device beside those of the round before.

use super::{AskedDevice, WantedObject, answers};
use crate::ask::counters::{self, Count, Growth, UpTime};

impl AskedDevice {
    /// Keeps what the counters were, also of those that were not answered in this round.
    pub(super) fn remember(&mut self) {
        self.suspects.clear();
        self.uptime_place = None;
        self.uptime_before = self.uptime.take().or(self.uptime_before);
        if self.is_answering {
            for (one, before) in self.objects.iter_mut().zip(&self.previous) {
                if one.count.is_none() && one.oid == before.oid {
                    one.count = before.count;
                }
            }
            std::mem::swap(&mut self.objects, &mut self.previous);
        }
        self.objects.clear();
    }

    /// The device's clock in the round before and in this one.
    fn uptimes(&self) -> Option<(UpTime, UpTime)> {
        self.uptime_before.zip(self.uptime)
    }

    fn is_restarted(&self) -> bool {
        self.uptimes().is_some_and(|(before, now)| before.is_restarted(now))
    }

    /// Compares counters with the round before; asks about those that may have wrapped.
    pub(super) fn compare_counters(&mut self) {
        let growth = |(one, before): (&WantedObject, &WantedObject)| {
            let pair = one.count.zip(before.count).filter(|_| one.oid == before.oid);
            pair.map_or(Growth::Forward, |(now, before)| now.growth(before))
        };
        let all: Vec<Growth> = self.objects.iter().zip(&self.previous).map(growth).collect();
        if all.iter().all(|growth| *growth == Growth::Forward) {
            return;
        }
        let is_restarted = self.is_restarted();
        let mut asked = Vec::new();
        for (place, growth) in all.into_iter().enumerate() {
            self.objects[place].is_anew = growth == Growth::Anew;
            if growth == Growth::Back && !is_restarted && self.uptimes().is_some() {
                asked.push(place);
            }
        }
        if is_restarted {
            for one in &mut self.objects {
                one.is_anew = one.count.is_some_and(Count::is_counter);
            }
        } else if !self.has_no_discontinuities {
            self.ask_discontinuities(&asked);
        }
    }

    fn ask_discontinuities(&mut self, counters: &[usize]) {
        let mut open = Vec::new();
        for &place in counters {
            let oid = counters::discontinuity(self.objects[place].oid.as_ref());
            if let Some(asked) = self.object(oid) {
                self.suspects.push((place, asked));
                if !open.contains(&asked) && self.objects[asked].value.is_none() {
                    open.push(asked);
                }
            }
        }
        self.put_into_requests(&open);
    }

    /// Says what the interfaces of suspect counters say, and how many counters begin anew.
    pub(super) fn judge_counters(&mut self, say: &mut dyn FnMut(String)) {
        let Some((before, now)) = self.uptimes() else { return };
        for (place, asked) in std::mem::take(&mut self.suspects) {
            match self.objects[asked].count {
                Some(count) => {
                    self.objects[place].is_anew = counters::is_between(count, before, now);
                }
                None => self.has_no_discontinuities |= self.error.is_none(),
            }
        }
        let count = self.objects.iter().filter(|one| one.is_anew).count();
        let ago = || answers::time_ticks(now.ticks);
        match (self.is_restarted(), count) {
            (true, 0) => say(format!(
                "{}: its agent was started again {} ago, its counters go on",
                self.text,
                ago()
            )),
            (true, count) => say(format!(
                "{}: was started again {} ago: {count} counters have begun anew, so what they grew by is unknown",
                self.text,
                ago()
            )),
            (false, 0) => {}
            (false, count) => say(format!(
                "{}: {count} counters have begun anew, so what they grew by is unknown",
                self.text
            )),
        }
    }
}
