//! The requests that wait, found by the id that an answer repeats.
//!
//! An id is the place in the table and how often the place was used, mixed with a number of the
//! session, so that an id is used again only after long and is not easily guessed.  Agents that cut
//! ids to 16 bits have a table of their own.

use crate::pdu::PduHead;

/// Bits of an id that are a place: most requests at once.
const PLACE_BITS: u32 = 20;

/// Bits that count how often the place was used.
const USE_BITS: u32 = 31 - PLACE_BITS;

/// No place.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A request.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: i32,
    pub(super) device: u32,
    pub(super) token: u64,
    /// The head of the request, whose `request_id` is `id`.
    pub(super) head: PduHead,
    /// The varbinds, encoded.
    pub(super) varbinds: Vec<u8>,
    /// How often it was sent.
    pub(super) tries: u32,
    /// Which of the configured tries it has: the first one, and how many.
    pub(super) first_try: u32,
    pub(super) tries_max: u32,
    /// How often it was sent again because of a report.
    pub(super) reports: u32,
    pub(super) first_sent_ns: u64,
    pub(super) sent_ns: u64,
    /// When the present try ends.
    pub(super) deadline_ns: u64,
    /// Whether its answer is expected soon, and room in the receive buffer is kept for it.
    pub(super) has_room: bool,
    pub(super) is_free: bool,
    uses: u32,
}

/// What an id leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestState {
    /// This request waits.
    Waiting(u32),
    /// One that was answered, or given up.
    Past,
    /// No request had it.
    Never,
}

/// The table.
#[derive(Debug)]
pub(super) struct RequestTable {
    places: Vec<Pending>,
    free: Vec<u32>,
    mask: u32,
    /// By an id of 16 bits, its place; empty until one is needed.
    short: Vec<u32>,
    short_next: u16,
}

impl RequestTable {
    pub(super) fn new(seed: u64) -> Self {
        let mask = (seed ^ seed >> 32) as u32 & (u32::MAX >> 1);
        Self {
            places: Vec::new(),
            free: Vec::new(),
            mask,
            short: Vec::new(),
            short_next: mask as u16,
        }
    }

    /// A new request; `None` if there are too many.
    pub(super) fn add(
        &mut self,
        device: u32,
        token: u64,
        head: PduHead,
        is_short: bool,
    ) -> Option<u32> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.places.len() < 1 << PLACE_BITS => {
                self.places.push(Pending {
                    id: 0,
                    device,
                    token,
                    head,
                    varbinds: Vec::new(),
                    tries: 0,
                    first_try: 0,
                    tries_max: 1,
                    reports: 0,
                    first_sent_ns: 0,
                    sent_ns: 0,
                    deadline_ns: 0,
                    has_room: false,
                    is_free: true,
                    uses: 0,
                });
                self.places.len() as u32 - 1
            }
            None => return None,
        };
        let Some(id) = self.id_of(place, is_short) else {
            self.free.push(place);
            return None;
        };
        let pending = &mut self.places[place as usize];
        pending.id = id;
        (pending.device, pending.token) = (device, token);
        pending.head = PduHead { request_id: id, ..head };
        pending.varbinds.clear();
        (pending.tries, pending.reports) = (0, 0);
        (pending.has_room, pending.is_free) = (false, false);
        Some(place)
    }

    fn id_of(&mut self, place: u32, is_short: bool) -> Option<i32> {
        if !is_short {
            let pending = &mut self.places[place as usize];
            loop {
                let uses = pending.uses & ((1 << USE_BITS) - 1);
                let id = (place | uses << PLACE_BITS) ^ self.mask;
                // The others are those of 16 bits.
                if id >> 16 != 0 {
                    return Some(id.cast_signed());
                }
                pending.uses = pending.uses.wrapping_add(1);
            }
        }
        if self.short.is_empty() {
            self.short = vec![NOWHERE; 1 << 16];
        }
        // Half of them free keeps the search short.
        for _ in 0..1 << 15 {
            self.short_next = self.short_next.wrapping_add(1) & 0x7fff;
            let entry = &mut self.short[usize::from(self.short_next)];
            if *entry == NOWHERE {
                *entry = place;
                return Some(i32::from(self.short_next));
            }
        }
        None
    }

    /// Ends a request; its id leads nowhere from now on.
    pub(super) fn remove(&mut self, place: u32) {
        let pending = &mut self.places[place as usize];
        if std::mem::replace(&mut pending.is_free, true) {
            return;
        }
        pending.uses = pending.uses.wrapping_add(1);
        if let Some(entry) = self.short.get_mut(pending.id as usize)
            && *entry == place
        {
            *entry = NOWHERE;
        }
        self.free.push(place);
    }

    /// The request that an answer with this id is for.
    pub(super) fn find(&self, id: i32) -> RequestState {
        if let Some(&place) = usize::try_from(id).ok().and_then(|id| self.short.get(id))
            && place != NOWHERE
        {
            return RequestState::Waiting(place);
        }
        let place = (id.cast_unsigned() ^ self.mask) & ((1 << PLACE_BITS) - 1);
        match self.places.get(place as usize) {
            Some(pending) if !pending.is_free && pending.id == id => RequestState::Waiting(place),
            Some(_) if id >= 0 => RequestState::Past,
            _ => RequestState::Never,
        }
    }

    /// How often a place was used, to know whether a request is still the same.
    pub(super) fn uses(&self, place: u32) -> u32 {
        self.places[place as usize].uses
    }

    pub(super) fn get(&self, place: u32) -> &Pending {
        &self.places[place as usize]
    }

    pub(super) fn get_mut(&mut self, place: u32) -> &mut Pending {
        &mut self.places[place as usize]
    }

    /// Requests that are not ended.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdu::PduKind;

    #[test]
    fn ids_lead_to_requests_until_they_end() {
        let head = PduHead::request(PduKind::Get, 0);
        for is_short in [false, true] {
            let mut table = RequestTable::new(0x1234_5678_9abc_def0);
            let mut seen = std::collections::HashSet::new();
            let places: Vec<u32> =
                (0..5_000).map(|token| table.add(7, token, head, is_short).unwrap()).collect();
            for &place in &places {
                let id = table.get(place).id;
                assert!(id >= 0 && (!is_short || id <= 0x7fff));
                assert!(seen.insert(id));
                assert_eq!(table.find(id), RequestState::Waiting(place));
                assert_eq!(table.get(place).head.request_id, id);
            }
            let id = table.get(places[9]).id;
            table.remove(places[9]);
            table.remove(places[9]);
            assert_ne!(table.find(id), RequestState::Waiting(places[9]));
            assert_eq!(table.len(), 4_999);
            let again = table.add(7, 0, head, is_short).unwrap();
            assert_ne!(table.get(again).id, id);
        }
    }

    #[test]
    fn ids_of_16_bits_run_out() {
        let head = PduHead::request(PduKind::Get, 0);
        let mut table = RequestTable::new(1);
        let count = (0..).take_while(|token| table.add(0, *token, head, true).is_some()).count();
        assert_eq!(count, 1 << 15);
        assert!(table.add(0, 0, head, false).is_some());
    }
}
