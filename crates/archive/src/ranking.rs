//! The heaviest of a period by what people ask for: processes by CPU time, memory or I/O, those that
//! ended included, with their shares; or the instances of any source by one of its fields.

use std::collections::HashMap;

use sample::{Field, Kind, SourceDef};

use crate::archive::Recordings;
use crate::heaviest::{InstanceSum, InstanceSums, check_text};
use crate::period_base::PeriodBase;
use crate::range::check_fields;
use crate::summary::EXIT;
use crate::{Error, RangeCost, Select};

const PROCESS: &str = "process";
/// What is read of every row of `exit`: a field that each of them has, and when the process ended.
const EXIT_FIELDS: [&str; 2] = ["parent", "end_time"];
/// What names a process that stands for itself.
const COMMAND: &str = "command";

/// The texts by whose values processes are gathered.
const GROUPINGS: &[&str] = &["command", "user", "cgroup"];

/// What processes can be ranked by.
struct ProcessAmount {
    name: &'static str,
    /// The fields that are added up.
    fields: &'static [&'static str],
    /// What is taken if no recording has values of these.
    otherwise: &'static [&'static str],
}

const PROCESS_AMOUNTS: &[ProcessAmount] = &[
    ProcessAmount { name: "cpu", fields: &["run_time"], otherwise: &["user_time", "system_time"] },
    ProcessAmount { name: "mem", fields: &["resident"], otherwise: &[] },
    ProcessAmount { name: "io", fields: &["read_bytes", "write_bytes"], otherwise: &[] },
    ProcessAmount { name: "read", fields: &["read_bytes"], otherwise: &[] },
    ProcessAmount { name: "write", fields: &["write_bytes"], otherwise: &[] },
    ProcessAmount { name: "faults", fields: &["minor_faults", "major_faults"], otherwise: &[] },
    ProcessAmount {
        name: "switches",
        fields: &["voluntary_switches", "involuntary_switches"],
        otherwise: &[],
    },
    ProcessAmount { name: "delay", fields: &["run_delay"], otherwise: &[] },
];

/// What processes are ranked by.
pub fn process_amounts() -> impl Iterator<Item = &'static str> {
    PROCESS_AMOUNTS.iter().map(|amount| amount.name)
}

/// What is to be ranked.
#[derive(Clone, Copy, Debug)]
pub struct RankingQuery<'a> {
    /// The machine.
    pub host: &'a str,
    /// `cpu`, `mem` or another amount of processes, or `SOURCE.FIELD`.
    pub what: &'a str,
    /// The text by whose values processes are gathered; `None` for the instances themselves.
    pub by: Option<&'a str>,
    /// The start of the period, in nanoseconds since the epoch.
    pub from_ns: i64,
    /// The end of the period: a sample at this time is not in it.
    pub thru_ns: i64,
    /// How many are wanted.
    pub count: usize,
}

/// The heaviest, the heaviest first.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The field that is ranked, or the first of those that are added up.
    pub field: Field,
    /// Whether processes are ranked.
    pub is_of_processes: bool,
    /// Whether the recordings say which processes ended.
    pub has_ends: bool,
    /// How many have any of it.
    pub known: usize,
    /// The first ones.
    pub lines: Vec<Ranked>,
    /// What was read for it.
    pub cost: RangeCost,
}

/// One of the heaviest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    /// The instance, or the text; `None` for processes that have no such text.
    pub name: Option<Vec<u8>>,
    /// The command of a process that stands for itself.
    pub command: Option<Vec<u8>>,
    /// How many instances it has.
    pub instances: usize,
    /// How many processes of that name ended.
    pub ended: usize,
    /// How many of the instances no reading has an amount of: processes that ended, of which only that
    /// is known.  They add nothing to the total.
    pub unknown: usize,
    /// How much a counter grew; of a gauge, the sum of all levels that were read.
    pub total: f64,
    /// The rate a second of a counter, or the level of a gauge, as the mean over the period.
    pub mean: f64,
    /// The share of the total of all, from 0 to 1.
    pub share: f64,
}

impl Ranked {
    /// Whether nothing is known of the amount, so that a total of 0 says nothing.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.unknown == self.instances
    }
}

/// A source, the fields that are added up, and those that are taken if these have no values.
type Amount<'a> = (&'a str, Vec<&'a str>, Vec<&'a str>);

impl<'a> RankingQuery<'a> {
    /// Checks what is asked for, without looking into recordings.
    ///
    /// # Errors
    /// There is no such amount, or processes are not gathered by that.
    pub fn check(&self) -> Result<(), Error> {
        self.amount()?;
        match self.by {
            Some(by) if !GROUPINGS.contains(&by) => Err(Error::UnknownGrouping {
                asked: by.to_owned(),
                known: Error::list(GROUPINGS.iter().copied()),
            }),
            _ => Ok(()),
        }
    }

    fn amount(&self) -> Result<Amount<'a>, Error> {
        let what = self.what;
        let amount = PROCESS_AMOUNTS.iter().find(|amount| amount.name == what);
        match (amount, what.split_once('.')) {
            (Some(amount), _) => Ok((PROCESS, amount.fields.to_vec(), amount.otherwise.to_vec())),
            (None, Some((source, field))) => Ok((source, vec![field], Vec::new())),
            (None, None) => Err(Error::UnknownAmount {
                asked: what.to_owned(),
                known: Error::list(process_amounts()),
            }),
        }
    }

    fn select<'b>(&'b self, source: &'b str, fields: &'b [&'b str]) -> Select<'b> {
        let RankingQuery { host, from_ns, thru_ns, .. } = *self;
        Select { host, source, fields, from_ns, thru_ns }
    }
}

impl Recordings {
    /// Ranks the heaviest in a period.  Processes that ended in it count with all that they used in
    /// it, those that lived only between two readings included.
    ///
    /// # Errors
    /// As [`heaviest`](Self::heaviest), and those of [`RankingQuery::check`].
    pub fn ranking(&self, query: &RankingQuery<'_>) -> Result<Ranking, Error> {
        query.check()?;
        let (source, mut fields, otherwise) = query.amount()?;
        let def = self.source(query.host, source)?;
        check_fields(&def, &fields)?;
        if let Some(by) = query.by {
            check_text(&def, by)?;
        }
        let is_of_processes = source == PROCESS;
        let text = query.by.or(is_of_processes.then_some(COMMAND));
        let mut sums = self.sums(query, source, &fields, text)?;
        let mut cost = sums.totals.cost;
        if sums.instances().next().is_none() && !otherwise.is_empty() {
            let others = self.sums(query, source, &otherwise, text)?;
            cost.add(&others.totals.cost);
            // Without any readings, processes that ended may have the first ones.
            if others.instances().next().is_some() {
                (fields, sums) = (otherwise, others);
            }
        }
        let ends = match is_of_processes {
            true => Ends::of(self, query, &fields, text, &mut cost)?,
            false => None,
        };
        let mut lines = Lines { is_by_text: query.by.is_some(), lines: HashMap::new() };
        lines.add_all(&sums, ends.as_ref());
        // Checked above.
        let field = def.fields[def.field(fields[0]).unwrap_or(0)].clone();
        let over = match field.kind {
            Kind::Counter => {
                // A period may have ends and less than two readings.
                let of_ends = ends.as_ref().map_or(0, |ends| ends.sums.totals.covered_ns);
                let period_ns = query.thru_ns.abs_diff(query.from_ns);
                let covered_ns = [sums.totals.covered_ns, of_ends, period_ns];
                covered_ns.into_iter().find(|&ns| ns > 0).unwrap_or(1) as f64 / 1e9
            }
            _ => sums.totals.readings.max(1) as f64,
        };
        let (known, lines) = lines.heaviest(query.count, over);
        Ok(Ranking { field, is_of_processes, has_ends: ends.is_some(), known, lines, cost })
    }

    /// What a period has of some fields, with a text.
    fn sums(
        &self,
        query: &RankingQuery<'_>,
        source: &str,
        fields: &[&str],
        text: Option<&str>,
    ) -> Result<InstanceSums, Error> {
        let mut asked = fields.to_vec();
        asked.extend(text);
        self.instance_sums(&query.select(source, &asked), fields.len())
    }
}

/// The processes that ended in a period.
struct Ends<'a> {
    /// What `exit` has of them, after [`EXIT_FIELDS`].
    sums: InstanceSums,
    /// For each field that is ranked its place there.
    places: Vec<Option<usize>>,
    /// What they had used when the period began.
    base: PeriodBase<'a>,
}

impl<'a> Ends<'a> {
    /// `None` if no recording says which processes ended.
    fn of(
        archive: &Recordings,
        query: &RankingQuery<'a>,
        fields: &'a [&'a str],
        text: Option<&str>,
        cost: &mut RangeCost,
    ) -> Result<Option<Self>, Error> {
        let Some(def) = archive.source(query.host, EXIT).ok() else {
            return Ok(None);
        };
        let unit = |def: &SourceDef, name: &str| def.field(name).map(|at| def.fields[at].unit);
        let process = archive.source(query.host, PROCESS)?;
        let mut asked = EXIT_FIELDS.to_vec();
        let places = fields.iter().map(|name| {
            let is_same = unit(&def, name) == unit(&process, name);
            is_same.then(|| {
                asked.push(name);
                asked.len() - 1
            })
        });
        let places = places.collect();
        let sums = archive.sums(query, EXIT, &asked, text)?;
        cost.add(&sums.totals.cost);
        if sums.totals.readings == 0 {
            return Ok(None);
        }
        let RankingQuery { host, from_ns, thru_ns, .. } = *query;
        let base = archive.base(Select { host, source: PROCESS, fields, from_ns, thru_ns })?;
        cost.readings += base.readings;
        Ok(Some(Ends { sums, places, base }))
    }

    /// Whether a process was gone before the period began: its end is only told in it.
    fn was_gone(&self, ended: &InstanceSum<'_>) -> bool {
        let is_early = ended.sums[1].is_some_and(|end_time| self.base.is_after(end_time.peak));
        is_early && !self.base.has(ended.name)
    }

    /// What a process that ended has used of a field since the period began; `None` if that is not
    /// known.
    fn used(&self, ended: &InstanceSum<'_>, field: usize) -> Option<i128> {
        let in_life = ended.sums[self.places[field]?]?.total;
        let before = self.base.raw(ended.name, field)?;
        Some(in_life - i128::from(before))
    }
}

/// The lines of a table while they are made, by instance or text.
struct Lines {
    is_by_text: bool,
    lines: HashMap<Option<Vec<u8>>, Line>,
}

#[derive(Default)]
struct Line {
    command: Option<Vec<u8>>,
    instances: usize,
    ended: usize,
    unknown: usize,
    total: i128,
}

impl Lines {
    fn line(&mut self, instance: &InstanceSum<'_>) -> &mut Line {
        let name = if self.is_by_text { instance.text } else { Some(instance.name) };
        let line = self.lines.entry(name.map(<[u8]>::to_vec)).or_default();
        if !self.is_by_text && line.command.is_none() {
            line.command = instance.text.map(<[u8]>::to_vec);
        }
        line
    }

    /// Adds what was read, and what those that ended have used beyond that.
    fn add_all(&mut self, sums: &InstanceSums, ends: Option<&Ends<'_>>) {
        for instance in sums.instances() {
            let ended = ends.and_then(|ends| Some((ends, ends.sums.find(instance.name)?)));
            let line = self.line(&instance);
            line.instances += 1;
            // It may have had another name when it ended.
            line.ended += usize::from(ended.is_some());
            for (field, sum) in instance.sums.iter().enumerate() {
                let used = ended.as_ref().and_then(|(ends, ended)| ends.used(ended, field));
                line.total += used.max(sum.map(|sum| sum.total)).unwrap_or(0);
            }
        }
        let Some(ends) = ends else { return };
        let is_unread = |ended: &InstanceSum<'_>| sums.find(ended.name).is_none();
        for ended in ends.sums.instances().filter(|ended| is_unread(ended) && !ends.was_gone(ended))
        {
            let used = (0..ends.places.len()).filter_map(|field| ends.used(&ended, field));
            let used: Option<i128> = used.reduce(|one, other| one + other);
            let line = self.line(&ended);
            line.instances += 1;
            line.ended += 1;
            line.unknown += usize::from(used.is_none());
            line.total += used.unwrap_or(0).max(0);
        }
    }

    /// How many have any, and the first ones; means are totals over a number.
    fn heaviest(self, count: usize, over: f64) -> (usize, Vec<Ranked>) {
        let total: i128 = self.lines.values().map(|line| line.total).sum();
        let known = self.lines.values().filter(|line| line.total != 0).count();
        let mut lines: Vec<_> = self.lines.into_iter().collect();
        lines.sort_by(|one, other| {
            other.1.total.cmp(&one.1.total).then_with(|| one.0.cmp(&other.0))
        });
        lines.truncate(count);
        let ranked = lines.into_iter().map(|(name, line)| Ranked {
            name,
            command: line.command,
            instances: line.instances,
            ended: line.ended,
            unknown: line.unknown,
            total: line.total as f64,
            mean: line.total as f64 / over,
            share: if total > 0 { line.total as f64 / total as f64 } else { 0.0 },
        });
        (known, ranked.collect())
    }
}
