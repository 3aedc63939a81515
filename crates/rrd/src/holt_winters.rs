//! Forecasts: Holt-Winters, additive and multiplicative, with seasons, deviations and failures.
//!
//! Five archives belong together: a forecast, its season, the deviations from it over a season,
//! those deviations as a history, and failures.  Each finds the others by index, and reads their
//! state from before or after this step, by which of them stands first in the file.
//!
//! Forecast: intercept + slope · n + season, or (intercept + slope · n) · season, where n counts
//! the steps since the last known value.  All parameters adapt exponentially.

use std::collections::VecDeque;

use crate::error::{Result, refuse};
use crate::header::{
    Archive, ConsolidationFunction, FAILURES_WINDOW_MAX, RrdHeader, Values, archive_value,
    consolidation_value as state,
};
use crate::number::UNKNOWN;

/// The formulas that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Additive,
    Multiplicative,
}

/// Parameters of a forecast at one time.
#[derive(Clone, Copy)]
struct Line {
    intercept: f64,
    slope: f64,
    null_count: u64,
}

impl Line {
    fn of(values: &Values) -> Self {
        Self {
            intercept: double(values, state::INTERCEPT),
            slope: double(values, state::SLOPE),
            null_count: values[state::NULL_COUNT],
        }
    }

    fn before(values: &Values) -> Self {
        Self {
            intercept: double(values, state::LAST_INTERCEPT),
            slope: double(values, state::LAST_SLOPE),
            null_count: values[state::LAST_NULL_COUNT],
        }
    }

    fn is_unknown(&self) -> bool {
        self.intercept.is_nan() || self.slope.is_nan()
    }
}

impl Method {
    fn of(function: ConsolidationFunction) -> Option<Self> {
        match function {
            ConsolidationFunction::HwPredict => Some(Self::Additive),
            ConsolidationFunction::MhwPredict => Some(Self::Multiplicative),
            _ => None,
        }
    }

    /// The season that changes nothing.
    fn identity(self) -> f64 {
        if self == Self::Additive { 0.0 } else { 1.0 }
    }

    fn predict(self, line: Line, season: f64) -> f64 {
        // RRDtool takes the count as a C int here.
        let trend = line.intercept + line.slope * f64::from(line.null_count as i32);
        if self == Self::Additive { trend + season } else { trend * season }
    }

    #[allow(clippy::cast_precision_loss, reason = "as RRDtool converts them")]
    fn intercept(self, alpha: f64, observed: f64, season: f64, line: Line) -> f64 {
        let trend = line.intercept + line.slope * line.null_count as f64;
        match self {
            Self::Additive => alpha * (observed - season) + (1.0 - alpha) * trend,
            Self::Multiplicative if season <= 0.0 => UNKNOWN,
            Self::Multiplicative => alpha * (observed / season) + (1.0 - alpha) * trend,
        }
    }

    fn season(self, gamma: f64, observed: f64, intercept: f64, season: f64) -> f64 {
        match self {
            Self::Additive => gamma * (observed - intercept) + (1.0 - gamma) * season,
            Self::Multiplicative if intercept <= 0.0 => UNKNOWN,
            Self::Multiplicative => gamma * (observed / intercept) + (1.0 - gamma) * season,
        }
    }

    fn first_season(self, observed: f64, intercept: f64) -> f64 {
        match self {
            Self::Additive => observed - intercept,
            Self::Multiplicative if intercept <= 0.0 => UNKNOWN,
            Self::Multiplicative => observed / intercept,
        }
    }
}

fn double(values: &Values, index: usize) -> f64 {
    f64::from_bits(values[index])
}

fn set(values: &mut Values, index: usize, value: f64) {
    values[index] = value.to_bits();
}

/// Refuses archives whose partners do not exist; RRDtool would read memory that is not its own.
pub(crate) fn check(header: &RrdHeader) -> Result<()> {
    for (index, archive) in header.archives.iter().enumerate() {
        let hops = match archive.function {
            function if function.is_plain() => continue,
            ConsolidationFunction::HwPredict
            | ConsolidationFunction::MhwPredict
            | ConsolidationFunction::DevPredict => 1,
            ConsolidationFunction::Seasonal | ConsolidationFunction::DevSeasonal => 2,
            _ => 3,
        };
        let mut partner = archive;
        for _ in 0..hops {
            let dependent = partner.dependent();
            partner = header.archives.get(dependent).ok_or_else(|| {
                let function = archive.function.name();
                refuse!("rra {index} ({function}) depends on rra {dependent}, which does not exist")
            })?;
        }
        let window = archive.values[archive_value::WINDOW];
        if archive.function == ConsolidationFunction::Failures
            && !(1..=FAILURES_WINDOW_MAX).contains(&window)
        {
            return Err(refuse!("rra {index} (FAILURES) has a window of {window} rows"));
        }
    }
    Ok(())
}

/// Bytes that the state has for the violations of a window.
const VIOLATIONS_BYTES: usize = 80;

/// Refuses windows for which the state has no room; RRDtool would use memory that is not its own.
pub(crate) fn check_windows(header: &RrdHeader) -> Result<()> {
    for (index, archive) in header.archives.iter().enumerate() {
        let window = archive.values[archive_value::WINDOW];
        let is_failures = archive.function == ConsolidationFunction::Failures;
        if is_failures && window > VIOLATIONS_BYTES as u64 {
            return Err(refuse!("rra {index} (FAILURES) has a window of {window} rows"));
        }
    }
    Ok(())
}

/// One step of one archive and source.
pub(crate) struct Step<'a> {
    pub(crate) header: &'a mut RrdHeader,
    pub(crate) archive: usize,
    pub(crate) source: usize,
    /// Where the value goes: `PRIMARY` or `SECONDARY`.
    pub(crate) slot: usize,
    /// The coefficient of the next row of a season.
    pub(crate) next_season: f64,
}

impl Step<'_> {
    /// Takes a data point; the value for the archive's row is in the slot afterwards.
    pub(crate) fn add_point(&mut self, point: f64) {
        self.put(point);
        match self.header.archives[self.archive].function {
            ConsolidationFunction::HwPredict => self.forecast(Method::Additive),
            ConsolidationFunction::MhwPredict => self.forecast(Method::Multiplicative),
            ConsolidationFunction::Seasonal => self.season(),
            ConsolidationFunction::DevSeasonal => self.deviation(),
            ConsolidationFunction::DevPredict => self.deviation_history(),
            ConsolidationFunction::Failures => self.failures(),
            _ => {}
        }
    }

    fn own(&mut self) -> &mut Values {
        self.header.state_mut(self.archive, self.source)
    }

    fn put(&mut self, value: f64) {
        let slot = self.slot;
        set(self.own(), slot, value);
    }

    fn point(&self) -> f64 {
        double(self.header.state(self.archive, self.source), self.slot)
    }

    fn parameter(&self, archive: usize, index: usize) -> f64 {
        self.header.archives[archive].double(index)
    }

    fn dependent(&self, archive: usize) -> usize {
        self.header.archives[archive].dependent()
    }

    /// The season's coefficient for this step, whichever of both archives comes first.
    fn season_of(&self, seasonal: usize, is_updated: bool) -> f64 {
        let index = if is_updated { state::LAST_SEASONAL } else { state::SEASONAL };
        double(self.header.state(seasonal, self.source), index)
    }

    fn forecast(&mut self, method: Method) {
        let archive = self.archive;
        let seasonal = self.dependent(archive);
        let season = self.season_of(seasonal, seasonal < archive);
        let (alpha, beta) = (
            self.parameter(archive, archive_value::ALPHA),
            self.parameter(archive, archive_value::BETA),
        );
        let observed = self.point();
        let own = self.own();
        own[state::LAST_INTERCEPT] = own[state::INTERCEPT];
        own[state::LAST_SLOPE] = own[state::SLOPE];
        own[state::LAST_NULL_COUNT] = own[state::NULL_COUNT];
        let line = Line::of(own);
        if line.is_unknown() || season.is_nan() {
            if line.intercept.is_nan() && !observed.is_nan() {
                set(own, state::INTERCEPT, observed);
                set(own, state::LAST_INTERCEPT, observed);
                set(own, state::SLOPE, 0.0);
                set(own, state::LAST_SLOPE, 0.0);
                own[state::NULL_COUNT] = 1;
                own[state::LAST_NULL_COUNT] = 1;
            }
            self.put(UNKNOWN);
            return;
        }
        let prediction = method.predict(line, season);
        if observed.is_nan() {
            own[state::NULL_COUNT] = own[state::NULL_COUNT].wrapping_add(1);
        } else {
            let intercept = method.intercept(alpha, observed, season, line);
            set(own, state::INTERCEPT, intercept);
            let growth = intercept - double(own, state::LAST_INTERCEPT);
            set(own, state::SLOPE, beta * growth + (1.0 - beta) * line.slope);
            own[state::NULL_COUNT] = 1;
        }
        self.put(prediction);
    }

    fn season(&mut self) {
        let archive = self.archive;
        let forecast = self.dependent(archive);
        let Some(method) = Method::of(self.header.archives[forecast].function) else { return };
        let gamma = self.parameter(archive, archive_value::GAMMA);
        let alpha = self.parameter(forecast, archive_value::ALPHA);
        let partner = *self.header.state(forecast, self.source);
        let observed = self.point();
        let next = self.next_season;
        let own = self.own();
        let season = double(own, state::SEASONAL);
        set(own, state::LAST_SEASONAL, season);
        set(own, state::SEASONAL, next);
        let value = if observed.is_nan() {
            season
        } else if forecast < archive {
            let before = Line::before(&partner);
            match () {
                () if before.is_unknown() => UNKNOWN,
                () if season.is_nan() => method.first_season(observed, before.intercept),
                () => method.season(gamma, observed, Line::of(&partner).intercept, season),
            }
        } else {
            let line = Line::of(&partner);
            match () {
                () if line.is_unknown() => method.identity(),
                () if season.is_nan() => method.first_season(observed, line.intercept),
                () => {
                    let intercept = method.intercept(alpha, observed, season, line);
                    method.season(gamma, observed, intercept, season)
                }
            }
        };
        self.put(value);
    }

    fn deviation(&mut self) {
        let archive = self.archive;
        let forecast = self.dependent(archive);
        let Some(method) = Method::of(self.header.archives[forecast].function) else { return };
        let gamma = self.parameter(archive, archive_value::GAMMA);
        let seasonal = self.dependent(forecast);
        let season = self.season_of(seasonal, seasonal < archive);
        let partner = *self.header.state(forecast, self.source);
        let next = self.next_season;
        let observed = self.point();
        let own = self.own();
        let last = double(own, state::SEASONAL);
        set(own, state::LAST_SEASONAL, last);
        set(own, state::SEASONAL, next);
        let line = if forecast < archive { Line::before(&partner) } else { Line::of(&partner) };
        let value = if line.is_unknown() || season.is_nan() {
            UNKNOWN
        } else {
            let prediction = method.predict(line, season);
            match () {
                () if observed.is_nan() => last,
                () if last.is_nan() => (prediction - observed).abs(),
                () => gamma * (prediction - observed).abs() + (1.0 - gamma) * last,
            }
        };
        self.put(value);
    }

    fn deviation_history(&mut self) {
        let deviation = self.dependent(self.archive);
        let value = self.season_of(deviation, deviation < self.archive);
        self.put(value);
    }

    fn failures(&mut self) {
        let archive = self.archive;
        let deviations = self.dependent(archive);
        let forecast = self.dependent(deviations);
        let Some(method) = Method::of(self.header.archives[forecast].function) else { return };
        let seasonal = self.dependent(forecast);
        // The place of the season decides for the deviation, too.
        let is_updated = archive >= seasonal;
        let deviation = self.season_of(deviations, is_updated);
        let observed = self.point();
        let mut violation = false;
        if !deviation.is_nan() {
            let season = self.season_of(seasonal, is_updated);
            let partner = self.header.state(forecast, self.source);
            let line = if archive < forecast { Line::of(partner) } else { Line::before(partner) };
            let prediction = method.predict(line, season);
            let above = self.parameter(archive, archive_value::DELTA_POSITIVE);
            let below = self.parameter(archive, archive_value::DELTA_NEGATIVE);
            violation = observed.is_nan()
                || observed > prediction + above * deviation
                || observed < prediction - below * deviation;
        }
        let parameters = self.header.archives[archive].values;
        let window = parameters[archive_value::WINDOW].min(FAILURES_WINDOW_MAX) as usize;
        let mut bytes = violations(self.own());
        bytes.copy_within(0..window.max(1) - 1, 1);
        bytes[0] = u8::from(violation);
        // C's char has a sign here.
        let count: i64 = bytes[..window.max(1)].iter().map(|byte| i64::from(*byte as i8)).sum();
        set_violations(self.own(), &bytes);
        let count = u64::from(count as u16);
        self.put(if count < parameters[archive_value::THRESHOLD] { 0.0 } else { 1.0 });
    }
}

/// The violations of the latest rows, newest first; they share the memory of the other values.
pub(crate) fn violations(values: &Values) -> [u8; VIOLATIONS_BYTES] {
    let mut bytes = [0; VIOLATIONS_BYTES];
    for (slot, value) in bytes.chunks_exact_mut(8).zip(values) {
        slot.copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

fn set_violations(values: &mut Values, bytes: &[u8; VIOLATIONS_BYTES]) {
    for (value, slot) in values.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut word = [0; 8];
        word.copy_from_slice(slot);
        *value = u64::from_le_bytes(word);
    }
}

/// Forgets the violations of the window.
pub(crate) fn erase_violations(archive: &Archive, values: &mut Values) {
    if archive.function != ConsolidationFunction::Failures {
        return;
    }
    let window = archive.values[archive_value::WINDOW].min(FAILURES_WINDOW_MAX) as usize;
    let mut bytes = violations(values);
    bytes[..window].fill(0);
    set_violations(values, &bytes);
}

/// Forgets all that was learned about a source's forecast.  Seasons are given back, to be filled
/// with unknown values.
pub(crate) fn reset(header: &mut RrdHeader, source: usize) -> Vec<usize> {
    let mut seasons = Vec::new();
    for index in 0..header.archives.len() {
        let archive = header.archives[index].clone();
        let values = header.state_mut(index, source);
        match archive.function {
            ConsolidationFunction::HwPredict | ConsolidationFunction::MhwPredict => {
                begin_forecast(values);
            }
            ConsolidationFunction::Seasonal | ConsolidationFunction::DevSeasonal => {
                set(values, state::SEASONAL, UNKNOWN);
                set(values, state::LAST_SEASONAL, UNKNOWN);
                seasons.push(index);
            }
            ConsolidationFunction::Failures => erase_violations(&archive, values),
            _ => {}
        }
    }
    seasons
}

/// The state of a forecast that has seen nothing.
pub(crate) fn begin_forecast(values: &mut Values) {
    for index in [state::INTERCEPT, state::LAST_INTERCEPT, state::SLOPE, state::LAST_SLOPE] {
        set(values, index, UNKNOWN);
    }
    values[state::NULL_COUNT] = 1;
    values[state::LAST_NULL_COUNT] = 1;
}

/// The state of a season that has seen nothing.
pub(crate) fn begin_season(values: &mut Values) {
    set(values, state::SEASONAL, UNKNOWN);
    set(values, state::LAST_SEASONAL, UNKNOWN);
    values[state::SEASONS] = 1;
}

/// Seasons before the season is smoothed at its own row, instead of at each end.
const FIRST_SEASONS: u64 = 3;

/// Whether these steps pass the row at which a season is smoothed.  Counts the first seasons.
pub(crate) fn is_smoothing_due(header: &mut RrdHeader, archive: usize, elapsed: u64) -> bool {
    let row = header.current_row[archive];
    let Archive { rows, values, .. } = header.archives[archive].clone();
    let smooth_row = values[archive_value::SMOOTH_ROW];
    let reached = row.wrapping_add(elapsed);
    let Some(seasons) = header.consolidation.get_mut(archive * header.sources.len()) else {
        return false;
    };
    let seasons = &mut seasons[state::SEASONS];
    if *seasons > FIRST_SEASONS {
        if smooth_row > row {
            return reached >= smooth_row;
        }
        return reached >= rows && reached >= rows.wrapping_add(smooth_row);
    }
    if reached < rows {
        return false;
    }
    *seasons += 1;
    true
}

/// Smooths a season with a moving average; `cells` are its rows.  Does nothing while a value is
/// unknown.  The mean of a season moves into the intercept of its forecast.
#[allow(clippy::cast_precision_loss, reason = "as RRDtool converts them")]
pub(crate) fn smooth(header: &mut RrdHeader, archive: usize, cells: &mut [f64]) -> bool {
    let sources = header.sources.len();
    let own = header.archives[archive].clone();
    let rows = own.rows as usize;
    let window = match header.version {
        4.. => own.double(archive_value::SMOOTHING_WINDOW),
        _ => 0.05,
    };
    let offset = (window / 2.0 * rows as f64).floor();
    if !(1.0..=rows as f64).contains(&offset) || cells.iter().any(|cell| cell.is_nan()) {
        return false;
    }
    let offset = offset as usize;
    for source in 0..sources {
        let at = |row: usize| (row % rows) * sources + source;
        let mut queue = VecDeque::with_capacity(2 * offset + 1);
        let mut sum = 0.0;
        let mut baseline = 0.0;
        for step in 0..2 * offset {
            let value = cells[at(step + rows - offset)];
            queue.push_back(value);
            sum += value;
        }
        // The last rows read the first ones again, which are smoothed by then.
        for step in offset..rows + offset {
            let value = cells[at(step)];
            sum += value;
            queue.push_back(value);
            let middle = at(step - offset);
            cells[middle] = sum / (2 * offset + 1) as f64;
            baseline += cells[middle];
            sum -= queue.pop_front().unwrap_or(0.0);
        }
        if own.function != ConsolidationFunction::Seasonal {
            continue;
        }
        baseline /= rows as f64;
        let forecast = own.dependent();
        let Some(method) = Method::of(header.archives[forecast].function) else { continue };
        for row in 0..rows {
            cells[at(row)] = method.first_season(cells[at(row)], baseline);
        }
        let values = header.state_mut(forecast, source);
        let intercept = double(values, state::INTERCEPT) + baseline;
        set(values, state::INTERCEPT, intercept);
    }
    true
}
