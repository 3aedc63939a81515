//! A row of the report: what was published, and what everybody needs here.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::Seed;
use crate::contest::{Contest, Measurement, median};

/// The part by which the rounds of a row may differ from their median before the row says so.
const SPREAD_MAX: f64 = 0.1;

/// Digits of a figure that mean something.
const DIGITS: i32 = 3;

/// What somebody needs, in each round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figure {
    /// The name of the program, with its version where the row compares versions.
    pub(crate) who: Cow<'static, str>,
    pub(crate) rounds: Vec<f64>,
}

impl Figure {
    /// A number of each turn of a contestant; `None` for a contestant without turns.
    pub(crate) fn of<T>(
        contest: &Contest<T>,
        number: impl Fn(&Measurement) -> f64,
    ) -> Option<Self> {
        let rounds: Vec<f64> = contest.turns.iter().map(number).collect();
        Figure::new(contest.name.clone(), rounds)
    }

    /// The numbers of all rounds; `None` without any.
    pub(crate) fn new(who: impl Into<Cow<'static, str>>, rounds: Vec<f64>) -> Option<Self> {
        (!rounds.is_empty()).then(|| Figure { who: who.into(), rounds })
    }

    /// The median over the rounds.
    pub(crate) fn median(&self) -> f64 {
        median(self.rounds.clone())
    }

    /// This divided by that of others in the same round.
    fn ratios(&self, other: &Figure) -> Vec<f64> {
        let rounds = self.rounds.iter().zip(&other.rounds).map(|(this, other)| this / other);
        rounds.filter(|ratio| ratio.is_finite() && *ratio > 0.0).collect()
    }

    fn from_json(who: &Value, rounds: &Value) -> Option<Self> {
        let rounds = rounds.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<_>>>()?;
        Figure::new(who.as_str()?.to_owned(), rounds)
    }
}

/// A figure as it was published.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Published {
    /// In the unit of the row.
    pub(crate) value: f64,
    /// As its author wrote it.
    pub(crate) words: Cow<'static, str>,
}

/// The median of a ratio over the rounds, and its smallest and largest value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// The number of rounds.
    pub(crate) rounds: usize,
}

impl Ratio {
    fn of(ratios: Vec<f64>) -> Option<Self> {
        let least = ratios.iter().copied().reduce(f64::min)?;
        let most = ratios.iter().copied().reduce(f64::max)?;
        Some(Ratio { rounds: ratios.len(), median: median(ratios), least, most })
    }

    /// How far the rounds lie apart, as a part of the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.most - self.least) / self.median
    }

    /// Whether the rounds differ by more than a ratio of this report claims.
    pub(crate) fn differs(&self) -> bool {
        self.spread() > SPREAD_MAX
    }

    fn to_json(self) -> Value {
        // One round has no spread.
        let spread = (self.rounds > 1).then(|| self.spread());
        json!({
            "median": self.median, "least": self.least, "most": self.most,
            "rounds": self.rounds, "spread": spread, "differs": self.differs(),
        })
    }
}

/// A row of the report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeedRow {
    pub(crate) seed: Seed,
    pub(crate) name: Cow<'static, str>,
    pub(crate) unit: Cow<'static, str>,
    pub(crate) published: Option<Published>,
    pub(crate) incumbent: Option<Figure>,
    pub(crate) whit: Option<Figure>,
    pub(crate) floor: Option<Figure>,
    /// The run that measured it, if that was not this one.
    pub(crate) kept: Option<Cow<'static, str>>,
    /// How to repeat it.
    pub(crate) command: String,
    /// Why something is missing, and what the numbers do not say.
    pub(crate) notes: Vec<String>,
    /// Columns that this measurement had when it was published.
    pub(crate) columns: Map<String, Value>,
}

impl SeedRow {
    /// A row without figures.
    pub(crate) fn new(
        seed: Seed,
        name: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
    ) -> Self {
        SeedRow {
            seed,
            name: name.into(),
            unit: unit.into(),
            published: None,
            incumbent: None,
            whit: None,
            floor: None,
            kept: None,
            command: String::new(),
            notes: Vec::new(),
            columns: Map::new(),
        }
    }

    /// A row of which nothing could be measured.
    pub(crate) fn lost(seed: Seed, name: impl Into<Cow<'static, str>>, reason: String) -> Self {
        SeedRow { notes: vec![reason], ..SeedRow::new(seed, name, "") }
    }

    /// Adds what was published.
    pub(crate) fn published(mut self, value: f64, words: &'static str) -> Self {
        self.published = Some(Published { value, words: words.into() });
        self
    }

    /// Adds a note unless a figure is there.
    pub(crate) fn note_missing(&mut self, is_there: bool, reason: impl FnOnce() -> String) {
        if !is_there {
            self.notes.push(reason());
        }
    }

    /// Whether nothing was measured.
    pub(crate) fn is_lost(&self) -> bool {
        self.incumbent.is_none() && self.whit.is_none() && self.floor.is_none()
    }

    /// How many times as much the incumbent needs as whit.
    pub(crate) fn ratio(&self) -> Option<Ratio> {
        Ratio::of(self.incumbent.as_ref()?.ratios(self.whit.as_ref()?))
    }

    /// How many times as much whit needs as the floor.
    pub(crate) fn above_floor(&self) -> Option<Ratio> {
        Ratio::of(self.whit.as_ref()?.ratios(self.floor.as_ref()?))
    }

    /// Whether the rounds of a ratio differ by more than this report claims.
    pub(crate) fn differs(&self) -> bool {
        self.ratio().into_iter().chain(self.above_floor()).any(|ratio| ratio.differs())
    }

    /// The row as one object; [`SeedRow::from_json`] reads it.
    pub(crate) fn to_json(&self) -> Value {
        let middle = |figure: &Option<Figure>| figure.as_ref().map(Figure::median);
        let rounds = |figure: &Option<Figure>| figure.as_ref().map(|one| one.rounds.clone());
        let who = |figure: &Option<Figure>| figure.as_ref().map(|one| one.who.clone());
        let ratio = self.ratio().map(Ratio::to_json);
        let above_floor = self.above_floor().map(Ratio::to_json);
        let (incumbent, whit, floor) = (&self.incumbent, &self.whit, &self.floor);
        json!({
            "seed": self.seed.name(),
            "row": self.name,
            "published": self.published.as_ref().map(|one| one.value),
            "incumbent": middle(incumbent),
            "whit": middle(whit),
            "floor": middle(floor),
            "unit": self.unit,
            "published_as": self.published.as_ref().map(|one| one.words.as_ref()),
            "incumbent_times_whit": ratio,
            "whit_times_floor": above_floor,
            "differs": self.differs(),
            "kept": self.kept,
            "who": { "incumbent": who(incumbent), "whit": who(whit), "floor": who(floor) },
            "rounds": {
                "incumbent": rounds(incumbent), "whit": rounds(whit), "floor": rounds(floor)
            },
            "columns": self.columns,
            "command": self.command,
            "notes": self.notes,
        })
    }

    /// Reads what [`SeedRow::to_json`] made.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| Some(Cow::from(value[key].as_str()?.to_owned()));
        let figure = |key: &str| Figure::from_json(&value["who"][key], &value["rounds"][key]);
        let name = value["seed"].as_str()?;
        let published = value["published"].as_f64().zip(text("published_as"));
        let notes = value["notes"].as_array()?.iter();
        Some(SeedRow {
            seed: Seed::ALL.into_iter().find(|seed| seed.name() == name)?,
            name: text("row")?,
            unit: text("unit")?,
            published: published.map(|(value, words)| Published { value, words }),
            incumbent: figure("incumbent"),
            whit: figure("whit"),
            floor: figure("floor"),
            kept: text("kept"),
            command: text("command")?.into_owned(),
            notes: notes.map(|note| note.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            columns: value["columns"].as_object()?.clone(),
        })
    }
}

/// A number with three digits that mean something, and no exponent.
pub(crate) fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let magnitude = number.abs().log10().floor() as i32;
    let decimals = (DIGITS - 1 - magnitude).clamp(0, 9) as usize;
    let text = format!("{number:.decimals$}");
    // Rounding up may have added a digit: 9.996 is 10.00, and shall be 10.0.
    let is_longer = text.parse::<f64>().is_ok_and(|one| one.abs() >= 10_f64.powi(magnitude + 1));
    if is_longer { format!("{number:.*}", decimals.saturating_sub(1)) } else { text }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row with everything.
    pub(crate) fn full() -> SeedRow {
        let figure = |who: &'static str, rounds: [f64; 3]| Figure::new(who, rounds.into());
        let mut row = SeedRow::new(Seed::Collectl, "-sc <&\">", "CPU us a sample");
        row = row.published(463.0, "under 4 s");
        row.incumbent = figure("collectl", [190.0, 200.0, 210.0]);
        row.whit = figure("whit", [10.0, 10.0, 10.0]);
        row.floor = figure("floor", [8.0, 8.0, 8.0]);
        row.command = "collectl -sc".to_owned();
        row.notes.push("half a note".to_owned());
        row.columns.insert("threads".to_owned(), 3.into());
        row
    }

    #[test]
    fn a_row_survives_its_file() {
        let row = full();
        let text = row.to_json().to_string();
        assert_eq!(SeedRow::from_json(&serde_json::from_str(&text).unwrap()), Some(row));
        let lost = SeedRow::lost(Seed::Acs, "a row", "no such program".to_owned());
        assert!(lost.is_lost());
        assert_eq!(SeedRow::from_json(&lost.to_json()), Some(lost));
        assert_eq!(SeedRow::from_json(&json!({ "seed": "007" })), None);
    }

    #[test]
    fn members_are_those_that_were_asked_for() {
        let value = full().to_json();
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let first = ["seed", "row", "published", "incumbent", "whit", "floor", "unit"];
        assert_eq!(keys[..7], first);
        assert_eq!(value["seed"], "000");
        assert_eq!(value["incumbent"], 200.0);
    }

    #[test]
    fn rounds_that_differ_by_more_than_a_tenth_say_so() {
        let mut row = full();
        let ratio = row.ratio().unwrap();
        assert_eq!((ratio.median, ratio.least, ratio.most), (20.0, 19.0, 21.0));
        assert!((ratio.spread() - 0.1).abs() < 1e-9 && !row.differs());
        row.whit = Figure::new("whit", vec![10.0, 10.0, 8.0]);
        assert!(row.differs());
        let json = row.to_json();
        let times = &json["incumbent_times_whit"];
        assert_eq!((&times["rounds"], &times["differs"]), (&json!(3), &json!(true)), "{times}");
        assert!(times["spread"].as_f64().is_some_and(|spread| spread > 0.3), "{times}");
        row.incumbent = None;
        assert_eq!(row.ratio(), None);
        assert!(row.differs(), "whit beside the floor differs, too");
        row.whit = Figure::new("whit", vec![10.0]);
        assert!(!row.differs() && row.to_json()["whit_times_floor"]["spread"].is_null());
        // The incumbent's ratio repeats, and that to the floor does not.
        row.incumbent = Figure::new("collectl", vec![20.0, 10.0]);
        row.whit = Figure::new("whit", vec![10.0, 5.0]);
        assert!(!row.ratio().unwrap().differs() && row.above_floor().unwrap().differs());
        assert!(row.differs());
        row.whit = Figure::new("whit", vec![0.0, 0.0, 0.0]);
        assert_eq!(row.above_floor(), None, "less than the clock shows");
    }

    #[test]
    fn numbers_have_three_digits() {
        for (number, text) in [
            (0.0, "0"),
            (1234.56, "1235"),
            (123.4, "123"),
            (12.34, "12.3"),
            (9.996, "10.0"),
            (1.0, "1.00"),
            (0.999_6, "1.00"),
            (999.9, "1000"),
            (0.012_34, "0.0123"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
