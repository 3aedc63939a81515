//! The heaviest of a period by what people ask for: processes by CPU time, memory or I/O, those that
//! ended included, with their shares; or the instances of any source by one of its fields.

use std::collections::{HashMap, HashSet};

use sample::{Field, SourceDef};

use crate::archive::Recordings;
use crate::range::check_fields;
use crate::{Error, HeaviestQuery, Select, Tracker};

const PROCESS: &str = "process";
const EXIT: &str = "exit";
/// A field that every row of `exit` has.
const EXIT_FIELD: &str = "end_time";

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
    /// Its end: a sample at this time is not in it.
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
    /// How much a counter grew; of a gauge, the sum of all levels that were read.
    pub total: f64,
    /// The rate a second of a counter, or the level of a gauge, as the mean over the period.
    pub mean: f64,
    /// Its part of the total of all.
    pub share: f64,
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
                known: Error::list(PROCESS_AMOUNTS.iter().map(|amount| amount.name)),
            }),
        }
    }

    fn select<'b>(&'b self, source: &'b str, fields: &'b [&'b str]) -> Select<'b> {
        let RankingQuery { host, from_ns, thru_ns, .. } = *self;
        Select { host, source, fields, from_ns, thru_ns }
    }
}

impl Recordings {
    /// Ranks the heaviest in a period.  Processes that lived only between two readings count with
    /// what they used in their lives.
    ///
    /// # Errors
    /// As [`heaviest`](Self::heaviest), and those of [`RankingQuery::check`].
    pub fn ranking(&self, query: &RankingQuery<'_>) -> Result<Ranking, Error> {
        query.check()?;
        let (source, mut fields, otherwise) = query.amount()?;
        let def = self.source(query.host, source)?;
        check_fields(&def, &fields)?;
        let mut lines = self.sums(query, source, &fields)?;
        if lines.is_empty() && !otherwise.is_empty() {
            fields = otherwise;
            lines = self.sums(query, source, &fields)?;
        }
        let is_of_processes = source == PROCESS;
        let ends = match is_of_processes {
            true => Ends::of(self, query, &fields)?,
            false => None,
        };
        if let Some(ends) = &ends {
            ends.add_to(&mut lines);
        }
        let total: f64 = lines.iter().map(|line| line.total).sum();
        let known = lines.iter().filter(|line| line.total != 0.0).count();
        lines.sort_by(|one, other| {
            other.total.total_cmp(&one.total).then_with(|| one.name.cmp(&other.name))
        });
        lines.truncate(query.count);
        for line in &mut lines {
            line.share = if total > 0.0 { line.total / total } else { 0.0 };
        }
        if is_of_processes && query.by.is_none() {
            add_commands(self, query, &mut lines)?;
        }
        // Checked above.
        let field = def.fields[def.field(fields[0]).unwrap_or(0)].clone();
        Ok(Ranking { field, is_of_processes, has_ends: ends.is_some(), known, lines })
    }

    /// The sums of some fields by name.
    fn sums(
        &self,
        query: &RankingQuery<'_>,
        source: &str,
        fields: &[&str],
    ) -> Result<Vec<Ranked>, Error> {
        let mut lines: HashMap<Option<Vec<u8>>, Ranked> = HashMap::new();
        for field in fields {
            let found = self.heaviest(&HeaviestQuery {
                host: query.host.to_owned(),
                source: source.to_owned(),
                field: (*field).to_owned(),
                by: query.by.map(str::to_owned),
                from_ns: query.from_ns,
                thru_ns: query.thru_ns,
                count: usize::MAX,
            })?;
            for heavy in found {
                let line = lines.entry(heavy.name.clone()).or_default();
                line.name = heavy.name;
                line.instances = line.instances.max(heavy.instances);
                line.total += heavy.total;
                line.mean += heavy.mean;
            }
        }
        Ok(lines.into_values().collect())
    }
}

/// The processes that ended in a period, by name.
struct Ends(HashMap<Option<Vec<u8>>, EndsOfName>);

#[derive(Default)]
struct EndsOfName {
    ended: usize,
    /// How many of them no reading has, since they lived only between two.
    unread: usize,
    /// What these have used in their lives, and the same a second of the period.
    total: f64,
    mean: f64,
}

impl Ends {
    /// `None` if no recording says which processes ended.
    fn of(
        archive: &Recordings,
        query: &RankingQuery<'_>,
        fields: &[&str],
    ) -> Result<Option<Self>, Error> {
        let Some(def) = archive.source(query.host, EXIT).ok() else {
            return Ok(None);
        };
        let unit = |def: &SourceDef, name: &str| def.field(name).map(|at| def.fields[at].unit);
        let process = archive.source(query.host, PROCESS)?;
        let is_same = |name: &&&str| unit(&def, name) == unit(&process, name);
        let mut of_ends = vec![EXIT_FIELD];
        of_ends.extend(fields.iter().filter(is_same));
        let name_at = of_ends.len();
        of_ends.extend(query.by);
        let select = query.select(EXIT, &of_ends);
        let mut used: Vec<f64> = Vec::new();
        let ends = archive.values(&select, &mut |read| {
            used.resize(used.len().max(read.instance + 1), 0.0);
            used[read.instance] += if read.field > 0 { read.value.number() } else { 0.0 };
            Ok(())
        })?;
        if ends.readings() == 0 {
            return Ok(None);
        }
        let read = archive.values(&query.select(PROCESS, &[]), &mut |_| Ok(()))?;
        let known: HashSet<&[u8]> = names(&read).collect();
        let mut by_name: HashMap<Option<Vec<u8>>, EndsOfName> = HashMap::new();
        for (instance, name) in names(&ends).enumerate() {
            let key = match query.by {
                Some(_) => ends.text(instance, name_at),
                None => Some(name),
            };
            let of_name = by_name.entry(key.map(<[u8]>::to_vec)).or_default();
            of_name.ended += 1;
            if !known.contains(name) {
                of_name.unread += 1;
                of_name.total += used.get(instance).copied().unwrap_or(0.0);
            }
        }
        for of_name in by_name.values_mut() {
            of_name.mean = of_name.total / read.seconds();
        }
        Ok(Some(Ends(by_name)))
    }

    fn add_to(&self, lines: &mut Vec<Ranked>) {
        let mut rest: HashMap<&Option<Vec<u8>>, &EndsOfName> = self.0.iter().collect();
        let add = |line: &mut Ranked, ends: &EndsOfName| {
            line.ended = ends.ended;
            line.instances += ends.unread;
            line.total += ends.total;
            line.mean += ends.mean;
        };
        for line in lines.iter_mut() {
            if let Some(ends) = rest.remove(&line.name) {
                add(line, ends);
            }
        }
        for (name, ends) in rest.into_iter().filter(|(_, ends)| ends.unread > 0) {
            let mut line = Ranked { name: name.clone(), ..Ranked::default() };
            add(&mut line, ends);
            lines.push(line);
        }
    }
}

/// The instances that a tracker knows, in its order.
fn names(tracker: &Tracker) -> impl Iterator<Item = &[u8]> {
    (0..).map(|instance| tracker.name(instance)).take_while(|name| !name.is_empty())
}

/// Adds the commands of processes, as the latest reading has them, or their end.
fn add_commands(
    archive: &Recordings,
    query: &RankingQuery<'_>,
    lines: &mut [Ranked],
) -> Result<(), Error> {
    for source in [EXIT, PROCESS] {
        if archive.source(query.host, source).is_err() {
            continue;
        }
        let tracker = archive.values(&query.select(source, &["command"]), &mut |_| Ok(()))?;
        let instances: HashMap<&[u8], usize> =
            names(&tracker).enumerate().map(|(instance, name)| (name, instance)).collect();
        for line in lines.iter_mut() {
            let instance = line.name.as_deref().and_then(|name| instances.get(name));
            let command = instance.and_then(|&instance| tracker.text(instance, 0));
            line.command = command.map(<[u8]>::to_vec).or(line.command.take());
        }
    }
    Ok(())
}
