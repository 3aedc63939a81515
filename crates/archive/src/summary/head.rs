//! The head of a source in a segment: its windows, its instances, and what its columns are expected
//! to have.

use recording::{Bytes, Corrupt, put, put_bytes, unzigzag, zigzag};
use sample::Interner;

use super::cell::{Expected, mean_time};

/// Limit of windows of a segment, and of those of all its instances, so that no crafted file keeps a
/// reader busy for long.
const WINDOWS_MAX: usize = 4_096;
const LISTED_MAX: usize = 1 << 24;

/// The readings of a source in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    /// How many were read.
    pub(crate) readings: u32,
    /// How many of them can be compared with the one before, and the time between them.
    pub(crate) rates: u32,
    pub(crate) covered_ns: u64,
    /// The time of the last rate.
    pub(super) last_time: u64,
}

impl Window {
    /// What a column of an instance has that all readings have.
    pub(super) fn expected(&self) -> Expected {
        Expected {
            levels: self.readings,
            rates: self.rates,
            took_ns: self.covered_ns,
            last_time: self.last_time,
        }
    }

    /// Adds a later window.
    pub(super) fn merge(&mut self, later: &Window) {
        self.readings = self.readings.saturating_add(later.readings);
        self.rates = self.rates.saturating_add(later.rates);
        self.covered_ns = self.covered_ns.saturating_add(later.covered_ns);
        if later.rates > 0 {
            self.last_time = later.last_time;
        }
    }
}

/// The first or the last reading of a source in a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edge {
    /// When its tick began, since the epoch.
    pub(crate) realtime_ns: i64,
    /// The two clocks of the reading.
    pub(crate) clocks: (u64, i64),
    /// Whether it was read.
    pub(crate) is_ok: bool,
    /// Whether it cannot be compared with the one before it, or after it.
    pub(crate) restart: bool,
}

/// An instance in a segment.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    /// The windows that have it, in rising order.
    pub(super) windows: Vec<u32>,
    /// The windows in which it does not have what is expected.
    pub(super) unusual: Vec<(u32, Expected)>,
    /// Whether it is in the first and the last reading of the recording.
    pub(super) is_in: [bool; 2],
}

/// The head of a source.
#[derive(Debug, Default)]
pub(crate) struct SourceHead {
    /// The windows of the segment.
    pub(crate) windows: Vec<Window>,
    /// The first and the last reading of the recording, if they are in the segment.
    pub(crate) edges: [Option<Edge>; 2],
    pub(super) names: Interner,
    pub(super) slots: Vec<Slot>,
}

impl SourceHead {
    /// The number of an instance.
    pub(super) fn slot(&mut self, name: &[u8]) -> usize {
        self.names.find(name, |_| true).unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.names.push(name)
        })
    }

    /// Each window of an instance, with what its columns are expected to have.
    pub(super) fn windows_of(&self, slot: usize) -> impl Iterator<Item = (u32, Expected)> {
        let slot = &self.slots[slot];
        let mut unusual = slot.unusual.iter().peekable();
        slot.windows.iter().map(move |&window| {
            let own = unusual.next_if(|unusual| unusual.0 == window).map(|unusual| unusual.1);
            let expected =
                || self.windows.get(window as usize).map(Window::expected).unwrap_or_default();
            (window, own.unwrap_or_else(expected))
        })
    }

    /// Adds a window to an instance.
    pub(super) fn add_window(&mut self, slot: usize, window: u32, expected: Expected) {
        let usual = self.windows.get(window as usize).map(Window::expected).unwrap_or_default();
        let slot = &mut self.slots[slot];
        slot.windows.push(window);
        if expected != usual {
            slot.unusual.push((window, expected));
        }
    }

    pub(super) fn encode(&self, interval_ns: u64, single_clock: bool) -> Vec<u8> {
        let clock = Clock { interval_ns, single_clock };
        let mut out = Vec::new();
        put(&mut out, self.windows.len() as u64);
        let mut before = [0; 2];
        for window in &self.windows {
            // Most windows have as many as the one before.
            let counts = [window.readings, window.rates];
            for (now, then) in counts.into_iter().zip(&mut before) {
                put(&mut out, zigzag(u64::from(now).wrapping_sub(*then)));
                *then = u64::from(now);
            }
            clock.put_times(window.rates, window.covered_ns, window.last_time, &mut out);
        }
        for edge in &self.edges {
            put(&mut out, u64::from(edge.is_some()));
            if let Some(edge) = edge {
                put(&mut out, edge.realtime_ns.cast_unsigned());
                put(&mut out, edge.clocks.0);
                put(&mut out, edge.clocks.1.cast_unsigned());
                put(&mut out, u64::from(edge.is_ok) | u64::from(edge.restart) << 1);
            }
        }
        put(&mut out, self.slots.len() as u64);
        for (number, slot) in self.slots.iter().enumerate() {
            put_bytes(&mut out, self.names.get(number).unwrap_or_default());
            put(&mut out, u64::from(slot.is_in[0]) | u64::from(slot.is_in[1]) << 1);
            encode_windows(&slot.windows, &mut out);
            encode_unusual(&slot.unusual, clock, &mut out);
        }
        out
    }

    pub(super) fn decode(
        plain: &[u8],
        interval_ns: u64,
        single_clock: bool,
    ) -> Result<SourceHead, Corrupt> {
        let clock = Clock { interval_ns, single_clock };
        let mut bytes = Bytes::new(plain);
        let mut head = SourceHead::default();
        let mut before = [0_u64; 2];
        for _ in 0..limited(bytes.count()?)? {
            for count in &mut before {
                *count = count.wrapping_add(unzigzag(bytes.varint()?));
            }
            let [readings, rates] = before.map(u32::try_from);
            let too_large = |_| Corrupt("a number is too large");
            let mut window = Window {
                readings: readings.map_err(too_large)?,
                rates: rates.map_err(too_large)?,
                ..Window::default()
            };
            (window.covered_ns, window.last_time) = clock.times(window.rates, &mut bytes)?;
            head.windows.push(window);
        }
        for edge in &mut head.edges {
            *edge = decode_edge(&mut bytes)?;
        }
        let mut left = LISTED_MAX;
        for _ in 0..bytes.count()? {
            head.names.push(bytes.prefixed()?);
            let flags = bytes.varint()?;
            let windows = decode_windows(&mut bytes, head.windows.len())?;
            left = left.checked_sub(windows.len()).ok_or(Corrupt("it has too many windows"))?;
            let unusual = decode_unusual(&mut bytes, clock)?;
            let is_in = [flags & 1 != 0, flags & 2 != 0];
            head.slots.push(Slot { windows, unusual, is_in });
        }
        Ok(head)
    }
}

/// How the time of rates is written: less what it is mostly.
#[derive(Clone, Copy)]
struct Clock {
    interval_ns: u64,
    single_clock: bool,
}

impl Clock {
    /// Appends the time that some rates cover, and that of the last one.
    fn put_times(self, rates: u32, took_ns: u64, last_time: u64, out: &mut Vec<u8>) {
        if rates > 0 {
            let nominal_ns = self.interval_ns.wrapping_mul(u64::from(rates));
            put(out, zigzag(took_ns.wrapping_sub(nominal_ns)));
            put(out, zigzag(last_time.wrapping_sub(mean_time(rates, took_ns, self.single_clock))));
        }
    }

    fn times(self, rates: u32, bytes: &mut Bytes<'_>) -> Result<(u64, u64), Corrupt> {
        if rates == 0 {
            return Ok((0, 0));
        }
        let nominal_ns = self.interval_ns.wrapping_mul(u64::from(rates));
        let took_ns = nominal_ns.wrapping_add(unzigzag(bytes.varint()?));
        let mean = mean_time(rates, took_ns, self.single_clock);
        Ok((took_ns, mean.wrapping_add(unzigzag(bytes.varint()?))))
    }
}

/// Runs of windows: windows between, windows.
fn encode_windows(windows: &[u32], out: &mut Vec<u8>) {
    let runs: Vec<&[u32]> = windows.chunk_by(|one, next| one + 1 == *next).collect();
    put(out, runs.len() as u64);
    let mut ended = 0;
    for run in runs {
        put(out, u64::from(run[0] - ended));
        put(out, run.len() as u64);
        ended = run[0] + run.len() as u32;
    }
}

fn decode_windows(bytes: &mut Bytes<'_>, count: usize) -> Result<Vec<u32>, Corrupt> {
    let (mut windows, mut at) = (Vec::new(), 0_u64);
    for _ in 0..bytes.count()? {
        let begun = at.saturating_add(bytes.varint()?);
        at = begun.saturating_add(bytes.varint()?);
        if at > count as u64 {
            return Err(Corrupt("an instance has too many windows"));
        }
        windows.extend(begun as u32..at as u32);
    }
    Ok(windows)
}

fn encode_unusual(unusual: &[(u32, Expected)], clock: Clock, out: &mut Vec<u8>) {
    put(out, unusual.len() as u64);
    let mut before = 0;
    for (window, expected) in unusual {
        put(out, u64::from(window - before));
        before = *window;
        put(out, u64::from(expected.levels));
        put(out, u64::from(expected.rates));
        clock.put_times(expected.rates, expected.took_ns, expected.last_time, out);
    }
}

fn decode_unusual(bytes: &mut Bytes<'_>, clock: Clock) -> Result<Vec<(u32, Expected)>, Corrupt> {
    let (mut unusual, mut before) = (Vec::new(), 0_u32);
    for _ in 0..limited(bytes.count()?)? {
        before = before.saturating_add(number(bytes)?);
        let (levels, rates) = (number(bytes)?, number(bytes)?);
        let (took_ns, last_time) = clock.times(rates, bytes)?;
        unusual.push((before, Expected { levels, rates, took_ns, last_time }));
    }
    Ok(unusual)
}

fn decode_edge(bytes: &mut Bytes<'_>) -> Result<Option<Edge>, Corrupt> {
    if bytes.varint()? == 0 {
        return Ok(None);
    }
    let realtime_ns = bytes.varint()?.cast_signed();
    let clocks = (bytes.varint()?, bytes.varint()?.cast_signed());
    let flags = bytes.varint()?;
    Ok(Some(Edge { realtime_ns, clocks, is_ok: flags & 1 != 0, restart: flags & 2 != 0 }))
}

fn limited(windows: usize) -> Result<usize, Corrupt> {
    if windows <= WINDOWS_MAX { Ok(windows) } else { Err(Corrupt("it has too many windows")) }
}

fn number(bytes: &mut Bytes<'_>) -> Result<u32, Corrupt> {
    u32::try_from(bytes.varint()?).map_err(|_| Corrupt("a number is too large"))
}
