//! Sources in steps, as readings: two for each step, between which counters grow and levels stand as
//! they did in the mean, so that what shows two readings of a source shows a step.

use std::collections::BTreeMap;
use std::sync::Arc;

use layout::{ChosenValues, SourceStep, StepCell, StepOrigin};
use sample::{Cadence, Field, Kind, Sample, Snapshot, SourceDef, State, Table, Unit};

use crate::archive::Recordings;
use crate::wall_steps::WallSteps;
use crate::{Error, HistoryValue, RangeQuery, StepValue};

/// How many steps are asked for at once, unless the answer is too large.
const CHUNK_STEPS: usize = 1_024;

/// The most moments that are looked at for the order and the texts of instances.
const MOMENTS_MAX: usize = 8;

/// The name of the source that says how many readings a step stands on.
const STEP: &str = "step";

/// The clock of the first of the two readings.
const BASE_NS: u64 = 1;

/// The source that says how many readings a step stands on ([`StepsQuery::sources`]).
#[must_use]
pub fn step_source() -> Arc<SourceDef> {
    let readings = Field::gauge("readings", Unit::Count, "Readings that the step stands on");
    Arc::new(SourceDef {
        name: STEP.into(),
        about: "The readings of a step".into(),
        fields: vec![readings].into(),
        cadence: Cadence::First,
        ..SourceDef::EMPTY
    })
}

/// Sources of a machine, and a period in steps.
#[derive(Clone, Debug)]
pub struct StepsQuery<'a> {
    /// The machine.
    pub host: &'a str,
    /// The sources, as [`Recordings::sources`] has them; [`step_source`] may be among them.
    pub sources: &'a [Arc<SourceDef>],
    /// What to read of each source, in the same order; of further sources, everything.  What is not read is
    /// missing in the steps, but for texts, which come in any case.
    pub wanted: &'a [ChosenValues],
    /// The start of the period, in nanoseconds since the epoch.
    pub from_ns: i64,
    /// The end of the period: a sample at this time is not in it.
    pub thru_ns: i64,
    /// The steps.
    pub steps: &'a WallSteps,
    /// Whether steps without readings come, too.
    pub with_empty: bool,
}

/// A step.
#[derive(Debug)]
pub struct StepReadings {
    /// When it begins, in nanoseconds since the epoch.
    pub begin_ns: i64,
    /// When it ends.
    pub end_ns: i64,
    /// The reading before it; its counters are those of some moment.
    pub base: Snapshot,
    /// The reading of the step, to be compared with that before.
    pub current: Snapshot,
    /// What the values stand on, for each source.
    pub sources: Vec<SourceStep>,
}

impl Recordings {
    /// Gives each step of a period to `each`, until that returns false.
    ///
    /// # Errors
    /// As [`range`](Self::range), and those of `each`.
    pub fn steps<E: From<Error>>(
        &self,
        query: &StepsQuery<'_>,
        each: &mut dyn FnMut(&mut StepReadings) -> Result<bool, E>,
    ) -> Result<(), E> {
        self.check_host(query.host)?;
        let mut readings = StepReadings {
            begin_ns: 0,
            end_ns: 0,
            base: Snapshot::new(query.sources),
            current: Snapshot::new(query.sources),
            sources: vec![SourceStep::default(); query.sources.len()],
        };
        let history = self.history_span(query.host)?;
        let mut chunk_steps = CHUNK_STEPS;
        let mut at_ns = query.from_ns;
        while at_ns < query.thru_ns {
            if !query.with_empty {
                let Some(next_ns) = self.next_known(query.host, history, at_ns) else { break };
                at_ns = at_ns.max(next_ns);
                if at_ns >= query.thru_ns {
                    break;
                }
            }
            let chunk = Chunk::at(query, at_ns, chunk_steps);
            let mut columns = match self.columns_of(query, &chunk) {
                Err(Error::TooMuch { .. }) if chunk.steps > 1 => {
                    chunk_steps = chunk.steps / 2;
                    continue;
                }
                answered => answered?,
            };
            for step in 0..chunk.steps {
                let is_read = readings.fill(&chunk, step, &mut columns);
                if (is_read || query.with_empty) && !each(&mut readings)? {
                    return Ok(());
                }
            }
            at_ns = chunk.thru_ns;
        }
        Ok(())
    }

    /// The first time at or after `at_ns` at which there is a recording, or a history.
    fn next_known(&self, host: &str, history: Option<(i64, i64)>, at_ns: i64) -> Option<i64> {
        let recorded = self.of_host(host).map(|(_, file)| (file.file.started_ns, file.ended_ns));
        let after = recorded.chain(history).filter(|(_, ended_ns)| *ended_ns >= at_ns);
        after.map(|(started_ns, _)| started_ns.max(at_ns)).min()
    }

    fn columns_of(
        &self,
        query: &StepsQuery<'_>,
        chunk: &Chunk,
    ) -> Result<Vec<SourceColumns>, Error> {
        let mut examples = vec![None; query.sources.len()];
        self.find_examples(query, chunk, &mut examples)?;
        let wanted = query.wanted.iter().cloned().chain(std::iter::repeat(ChosenValues::default()));
        let asked = query.sources.iter().zip(examples).zip(wanted);
        let columns = asked.map(|((def, example), wanted)| {
            // Databases have the steps in which a recording has nothing, of any instance.
            let is_divided = self.has_database(query.host, &def.name);
            let ChosenValues { fields, instances } =
                if is_divided { ChosenValues::default() } else { wanted };
            let mut columns = SourceColumns::new(def.clone(), example, &fields);
            if columns.numbers.is_empty() || def.name == STEP {
                return Ok(columns);
            }
            let answer = self.range(&RangeQuery {
                host: query.host.to_owned(),
                source: def.name.to_string(),
                fields: columns.numbers.iter().map(|&at| def.fields[at].name.to_string()).collect(),
                instances,
                from_ns: chunk.from_ns,
                thru_ns: chunk.thru_ns,
                step_ns: chunk.step_ns,
            })?;
            columns.origins = self.origins(&answer);
            for series in answer.series {
                columns.steps_of(&series.instance, series.field, 0).readings = series.values;
            }
            let of_readings = columns.rows.len();
            for series in answer.history {
                let steps = columns.steps_of(&series.instance, series.field, of_readings);
                steps.history = series.values;
            }
            columns.sort();
            Ok(columns)
        });
        columns.collect()
    }

    /// Finds a reading of each source at the end of a chunk, or before.
    fn find_examples(
        &self,
        query: &StepsQuery<'_>,
        chunk: &Chunk,
        examples: &mut [Option<Example>],
    ) -> Result<(), Error> {
        let mut ends_ns: Vec<i64> = self
            .of_host(query.host)
            .filter(|(_, file)| {
                file.file.started_ns < chunk.thru_ns && file.ended_ns >= chunk.from_ns
            })
            .map(|(_, file)| file.ended_ns.min(chunk.thru_ns - 1))
            .collect();
        ends_ns.sort_unstable();
        ends_ns.dedup();
        for &end_ns in ends_ns.iter().rev().take(MOMENTS_MAX) {
            for moment in self.moment(query.host, end_ns)? {
                for track in moment.history.tracks() {
                    let place = query.sources.iter().position(|def| def.name == track.def.name);
                    let Some(place) = place.filter(|_| track.current.state == State::Ok) else {
                        continue;
                    };
                    examples[place].get_or_insert_with(|| Example {
                        def: track.def.clone(),
                        table: track.current.table.clone(),
                    });
                }
            }
            let is_known = |(def, example): (&Arc<SourceDef>, &Option<Example>)| {
                example.is_some() || def.name == STEP
            };
            if query.sources.iter().zip(examples.iter()).all(is_known) {
                break;
            }
        }
        Ok(())
    }
}

/// Some steps of equal length, one after the other.
struct Chunk {
    /// The start of the first step, which may be before the period.
    begin_ns: i64,
    /// What is asked for.
    from_ns: i64,
    thru_ns: i64,
    step_ns: i64,
    steps: usize,
}

impl Chunk {
    /// At most so many steps from a time on.  A step that begins before the period is alone.
    fn at(query: &StepsQuery<'_>, at_ns: i64, most: usize) -> Self {
        let begin_ns = query.steps.begin(at_ns);
        let mut end_ns = query.steps.end(at_ns);
        let step_ns = end_ns.saturating_sub(begin_ns).max(1);
        let is_cut = begin_ns < query.from_ns;
        let from_ns = begin_ns.max(query.from_ns);
        let mut steps = 1;
        while !is_cut && steps < most && end_ns < query.thru_ns {
            let next_ns = query.steps.end(end_ns);
            if next_ns - end_ns != step_ns {
                break;
            }
            end_ns = next_ns;
            steps += 1;
        }
        Chunk { begin_ns, from_ns, thru_ns: end_ns.min(query.thru_ns), step_ns, steps }
    }
}

/// A reading of a source: the order of its instances, and what ranges do not have.
#[derive(Clone)]
struct Example {
    def: Arc<SourceDef>,
    table: Table,
}

/// The steps of a source in a chunk.
struct SourceColumns {
    def: Arc<SourceDef>,
    /// The fields that are numbers, and wanted.
    numbers: Vec<usize>,
    example: Option<Example>,
    /// For each field its place in the example.
    places: Vec<Option<usize>>,
    rows: Vec<RowColumns>,
    /// Where the values of each step come from.
    origins: BTreeMap<u32, StepOrigin>,
}

/// A value of a step.
#[derive(Clone, Copy)]
struct ShownStep {
    mean: f64,
    /// How much a counter grew in its readings, and in which time.
    growth: Option<f64>,
    seconds: f64,
    cell: StepCell,
}

impl ShownStep {
    fn of_readings(value: &StepValue) -> Self {
        ShownStep {
            mean: value.mean(),
            growth: value.growth(),
            seconds: value.seconds(),
            cell: StepCell {
                is_known: true,
                readings: value.readings,
                min: Some(value.min),
                max: Some(value.max),
            },
        }
    }

    fn of_history(value: &HistoryValue) -> Self {
        let HistoryValue { mean, min, max, .. } = *value;
        let cell = StepCell { is_known: true, readings: 0, min, max };
        ShownStep { mean, growth: None, seconds: 0.0, cell }
    }
}

/// The steps of an instance.
struct RowColumns {
    name: Vec<u8>,
    /// The row of the instance in the example.
    example: Option<usize>,
    fields: Vec<FieldSteps>,
    /// For each field its latest mean.
    latest: Vec<Option<f64>>,
    /// Whether it has a value in the step.
    is_here: bool,
}

/// The steps of a field of an instance.  No step has both.
#[derive(Clone, Default)]
struct FieldSteps {
    readings: Vec<StepValue>,
    history: Vec<HistoryValue>,
    /// How many of each are over.
    passed: [usize; 2],
}

impl FieldSteps {
    /// Passes over the steps before one; steps are asked for in rising order.
    fn pass_to(&mut self, step: usize) {
        let [readings, history] = &mut self.passed;
        while self.readings.get(*readings).is_some_and(|value| (value.step as usize) < step) {
            *readings += 1;
        }
        while self.history.get(*history).is_some_and(|value| (value.step as usize) < step) {
            *history += 1;
        }
    }

    /// The value of a step, as readings have it.
    fn of_readings(&self, step: usize) -> Option<&StepValue> {
        self.readings.get(self.passed[0]).filter(|value| value.step as usize == step)
    }

    /// The value of a step, as a history has it.
    fn of_history(&self, step: usize) -> Option<&HistoryValue> {
        self.history.get(self.passed[1]).filter(|value| value.step as usize == step)
    }

    fn value(&self, step: usize) -> Option<ShownStep> {
        let readings = self.of_readings(step).map(ShownStep::of_readings);
        readings.or_else(|| self.of_history(step).map(ShownStep::of_history))
    }
}

impl SourceColumns {
    fn new(def: Arc<SourceDef>, example: Option<Example>, wanted: &[usize]) -> Self {
        let fields = def.fields.iter().enumerate();
        let all = fields.filter(|(_, field)| field.kind != Kind::Text).map(|(at, _)| at);
        let all: Vec<usize> = all.collect();
        let mut numbers = all.clone();
        numbers.retain(|field| wanted.contains(field));
        // Without numbers no step has a row.
        let numbers = if numbers.is_empty() { all } else { numbers };
        let place = |field: &Field| example.as_ref().and_then(|one| one.def.field(&field.name));
        let places = def.fields.iter().map(place).collect();
        let (rows, origins) = (Vec::new(), BTreeMap::new());
        SourceColumns { numbers, places, def, example, rows, origins }
    }

    /// The steps of a number of an instance; instances come in their order, once those of readings, and
    /// once those of a history.  So many rows are of readings then, else 0.
    fn steps_of(&mut self, instance: &[u8], number: usize, of_readings: usize) -> &mut FieldSteps {
        let is_last = self.rows.last().is_some_and(|row| row.name == instance);
        let recorded = self.rows[..of_readings].binary_search_by(|row| (*row.name).cmp(instance));
        let known = if is_last { Some(self.rows.len() - 1) } else { recorded.ok() };
        let row = known.unwrap_or_else(|| {
            let width = self.def.fields.len();
            self.rows.push(RowColumns {
                name: instance.to_vec(),
                example: self.example.as_ref().and_then(|one| one.table.find(instance, 0)),
                fields: vec![FieldSteps::default(); width],
                latest: vec![None; width],
                is_here: false,
            });
            self.rows.len() - 1
        });
        &mut self.rows[row].fields[self.numbers[number]]
    }

    /// Instances as the machine lists them, then those that went: shorter names first, so that 2
    /// comes before 10.
    fn sort(&mut self) {
        let place = |row: &RowColumns| row.example.unwrap_or(usize::MAX);
        self.rows.sort_by(|one, other| {
            let by_name = || (one.name.len(), &one.name).cmp(&(other.name.len(), &other.name));
            place(one).cmp(&place(other)).then_with(by_name)
        });
    }

    /// Fills the two readings of a step; false if it has none.
    fn fill(
        &mut self,
        step: usize,
        length_ns: i64,
        (base, current): (&mut Sample, &mut Sample),
        known: &mut SourceStep,
    ) -> bool {
        known.readings = 0;
        known.origin = u32::try_from(step).ok().and_then(|step| self.origins.get(&step).copied());
        known.cells.clear();
        base.table.begin();
        current.table.begin();
        let mut covered_s: f64 = 0.0;
        for row in &mut self.rows {
            row.is_here = false;
            for &field in &self.numbers {
                let steps = &mut row.fields[field];
                steps.pass_to(step);
                if let Some(value) = steps.of_readings(step) {
                    known.readings = known.readings.max(value.readings);
                    covered_s = covered_s.max(value.seconds());
                    row.is_here = true;
                }
                row.is_here |= steps.of_history(step).is_some();
            }
        }
        let covered_ns = match covered_s > 0.0 {
            true => (covered_s * 1e9).round() as u64,
            false => length_ns.unsigned_abs(),
        };
        for row in self.rows.iter_mut().filter(|row| row.is_here) {
            let at = current.table.rows();
            base.table.row(&row.name);
            current.table.row(&row.name);
            for (field, &place) in self.places.iter().enumerate() {
                let table = self.example.as_ref().map(|example| &example.table);
                let of = table.zip(row.example).zip(place);
                let counted = of.map(|((table, row), place)| (table, row, place));
                let cell = fill_cell(
                    (self.def.fields[field].kind, counted),
                    (row, at, field),
                    (step, covered_ns as f64 / 1e9),
                    (&mut base.table, &mut current.table),
                );
                known.cells.push(cell);
            }
        }
        (base.monotonic_ns, current.monotonic_ns) = (BASE_NS, BASE_NS + covered_ns);
        known.origin.is_some()
    }
}

/// A cell of an example: its table, row and field.
type ExampleCell<'a> = (&'a Table, usize, usize);

/// Fills a cell of both readings; `known` is the same one of an example.
fn fill_cell(
    (kind, known): (Kind, Option<ExampleCell<'_>>),
    (row, at, field): (&mut RowColumns, usize, usize),
    (step, covered_s): (usize, f64),
    (base, current): (&mut Table, &mut Table),
) -> StepCell {
    if kind == Kind::Text {
        if let Some(text) = known.and_then(|(table, row, place)| table.text(row, place)) {
            base.row_mut(at).set_text(field, text);
            current.row_mut(at).set_text(field, text);
        }
        return StepCell::default();
    }
    let Some(value) = row.fields[field].value(step) else {
        row.latest[field] = None;
        return StepCell::default();
    };
    if kind == Kind::Counter {
        // The machine's counter: layouts may leave out what it never counted.
        let counted = known.and_then(|(table, row, place)| table.get(row, place));
        let counted = counted.unwrap_or(1).min(u64::MAX / 2);
        base.row_mut(at).set(field, counted);
        let is_whole = value.seconds == covered_s;
        let growth = value.growth.filter(|_| is_whole);
        current.set_mean(at, field, counted, growth.unwrap_or(value.mean * covered_s));
    } else {
        if let Some(mean) = row.latest[field] {
            base.set_mean(at, field, 0, mean);
        }
        current.set_mean(at, field, 0, value.mean);
        row.latest[field] = Some(value.mean);
    }
    value.cell
}

impl StepReadings {
    /// Fills a step of a chunk; false if it has no readings.
    fn fill(&mut self, chunk: &Chunk, step: usize, columns: &mut [SourceColumns]) -> bool {
        let number = i64::try_from(step).unwrap_or(i64::MAX);
        self.begin_ns = chunk.begin_ns.saturating_add(number.saturating_mul(chunk.step_ns));
        self.end_ns = self.begin_ns.saturating_add(chunk.step_ns);
        let before_ns = self.begin_ns.saturating_sub(chunk.step_ns);
        let length_ns = chunk.step_ns.unsigned_abs();
        let clocks = [(BASE_NS, before_ns, true), (BASE_NS + length_ns, self.begin_ns, false)];
        for (snapshot, clock) in [&mut self.base, &mut self.current].into_iter().zip(clocks) {
            (snapshot.monotonic_ns, snapshot.realtime_ns, snapshot.restart) = clock;
        }
        let (mut most, mut is_any) = (None, false);
        for (at, columns) in columns.iter_mut().enumerate() {
            let (base, current) = (&mut self.base.samples[at], &mut self.current.samples[at]);
            let known = &mut self.sources[at];
            let is_read = columns.fill(step, chunk.step_ns, (base, current), known);
            is_any |= is_read;
            most = most.max(known.told_readings());
            let covered_ns = current.monotonic_ns.saturating_sub(base.monotonic_ns);
            base.realtime_ns = self.begin_ns;
            current.realtime_ns = self.begin_ns.saturating_add_unsigned(covered_ns);
            for (snapshot, sample) in
                [(&mut self.base.fresh, base), (&mut self.current.fresh, current)]
            {
                snapshot[at] = is_read;
                sample.state = if is_read { State::Ok } else { State::NotRecorded };
            }
        }
        let own = columns.iter().position(|columns| columns.def.name == STEP);
        if let Some(at) = own {
            for snapshot in [&mut self.base, &mut self.current] {
                snapshot.fresh[at] = true;
                let sample = &mut snapshot.samples[at];
                sample.state = State::Ok;
                let readings = most.filter(|&most| most > 0 || !is_any).map(u64::from);
                sample.table.row(b"").set_some(0, readings);
            }
        }
        is_any
    }
}
