//! The benchmark of the caching daemon: `whit rrdcached` with each `--ack`, the installed rrdcached
//! with its journal, and the floor.
//!
//! *Updates*: a million of them over Unix sockets, in batches, one at a time, and from four clients.
//! The client sends texts that were made before and waits for each answer; it is the same for all,
//! and its CPU time counts.  The floor is a socket whose other end reads and answers.  *MRTG*: an
//! hour of 3,164 targets, the table of MRTG's mailing list, with and without a daemon.  *Start*:
//! 100,000 files whose readings are all in the journal.
//!
//! Every turn has a daemon and a journal of its own.  Answers are checked, and so are numbers of
//! updates; after the hour the files of all must be the same bytes.

use std::hash::{Hash as _, Hasher as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Progress;
use crate::contest::{Case, Contest, Measurement, in_turn};
use crate::error::{Context, Result, ensure};
use crate::folder;
use crate::measure::measure_threads;
use crate::programs::Programs;
use crate::report::{Report, Row};
use crate::rrd::Preparation;
use crate::rrd::files::{self, Layout, MRTG, ONE_SOURCE};

pub(crate) mod client;
pub(crate) mod daemon;
pub(crate) mod hour;
mod mounts;
pub(crate) mod report;

use client::{Client, Load};
use daemon::{Daemon, DaemonSettings};

named! {
    /// A part of the benchmark.
    DaemonCase {
        /// Updates over sockets.
        Updates = "updates",
        /// Writers on other addresses.
        Writers = "writers",
        /// An hour of MRTG.
        Mrtg = "mrtg",
        /// The start with a full journal.
        Start = "start",
        /// The hour of MRTG on other mounts.
        Mounts = "mounts",
    }
}

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct DaemonPlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// The parts that run.
    pub cases: Vec<DaemonCase>,
    /// Updates of a turn in batches.
    pub batched: u64,
    /// Updates of a turn one at a time.
    pub single: u64,
    /// Files that are updated in batches and one at a time.
    pub files: u64,
    /// Targets of MRTG.
    pub targets: u64,
    /// Steps of five minutes of MRTG, and in the journal.
    pub steps: u64,
    /// Files of the journal.
    pub many: u64,
    /// Where to make the files; the temporary folder without it.
    pub folder: Option<PathBuf>,
}

/// Clients at once.
const CLIENTS: u64 = 4;
/// Updates of a batch.
const BATCHES: [u64; 2] = [1_000, 10_000];
/// `-w` where no file shall be written.
pub(crate) const NO_WRITES_SECONDS: u64 = 1_000_000_000;

/// A program that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Floor,
    Rrdcached,
    /// With its `--ack`.
    Whit(&'static str),
}

impl Who {
    fn name(self) -> &'static str {
        match self {
            Who::Floor => "floor",
            Who::Rrdcached => "rrdcached -j",
            Who::Whit("none") => "whit --ack none",
            Who::Whit("disk") => "whit --ack disk",
            Who::Whit(_) => "whit --ack os",
        }
    }
}

/// How clients reach a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// By a socket file.
    Unix,
    /// By TCP, each client from an address of its own.
    Tcp,
}

/// The same updates by everybody, and how many they are.
pub(crate) type Updates = Case<u64>;

/// A row of a table.
type DaemonRow<'r> = Row<'r, u64, ()>;

/// Times from the start of a daemon, in ms, of each turn.
struct Start {
    name: &'static str,
    first_update_ms: Vec<f64>,
    replayed_ms: Vec<f64>,
    /// From a FLUSHALL until all files are written.
    written_ms: Vec<f64>,
}

/// The results.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) updates: Vec<Updates>,
    pub(crate) mrtg: Option<Updates>,
    pub(crate) mounts: Vec<Updates>,
    starts: Vec<Start>,
    pub(crate) notes: Vec<String>,
}

/// What all parts need.
struct Bench<'a> {
    plan: &'a DaemonPlan,
    programs: &'a Programs,
    rrdcached: Option<PathBuf>,
    rrdtool: Option<PathBuf>,
    folder: &'a Path,
    progress: &'a Progress<'a>,
}

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part or a file fails, if an answer is wrong, and if files are not the same
/// afterwards.
pub fn run(plan: &DaemonPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let (machine, results) = measure_all(plan, programs, progress)?;
    Ok(report::report(plan, &results, machine))
}

/// Measures without making a report; also gives the machine.
pub(crate) fn measure_all(
    plan: &DaemonPlan,
    programs: &Programs,
    progress: &Progress<'_>,
) -> Result<(Value, Results)> {
    let Preparation { machine, folder, rrdtool } =
        Preparation::new(plan.folder.as_deref(), programs)?;
    let rrdcached = programs.path.find("rrdcached");
    let folder = folder.path().canonicalize()?;
    let bench = Bench { plan, programs, rrdcached, rrdtool, folder: &folder, progress };
    let mut results = Results::default();
    if bench.rrdcached.is_none() {
        results.notes.push("rrdcached is not installed: its lines are missing".to_owned());
    }
    for case in &plan.cases {
        match case {
            DaemonCase::Updates => bench.updates(&mut results)?,
            DaemonCase::Mrtg => bench.mrtg(&mut results)?,
            DaemonCase::Start => bench.start(&mut results)?,
            DaemonCase::Writers => bench.writers(&mut results)?,
            DaemonCase::Mounts => bench.mounts(&mut results)?,
        }
    }
    progress.done();
    Ok((machine, results))
}

impl Bench<'_> {
    fn base(&self) -> PathBuf {
        self.folder.join("files")
    }

    fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// Starts a daemon; with an empty journal if `is_new`.
    fn daemon(&self, who: Who, write_seconds: u64, is_new: bool) -> Result<Daemon> {
        let (program, acknowledge) = match who {
            Who::Whit(acknowledge) => (&self.programs.whit, Some(acknowledge)),
            _ => (self.rrdcached.as_ref().context("rrdcached")?, None),
        };
        let journal = self.journal();
        if is_new && journal.exists() {
            std::fs::remove_dir_all(&journal)?;
        }
        let base = self.base();
        let way = DaemonSettings { program, acknowledge, base: &base, write_seconds };
        Daemon::start(way, &journal)
    }

    /// Makes all files anew.
    fn make(&self, layout: &Layout, files: u64) -> Result<()> {
        self.progress.show(&format!("making {files} files"));
        // Made once: rows begin at a random place.
        let template = self.folder.join(format!("template{}", layout.file_bytes()));
        if !template.exists() {
            layout.create(&self.programs.whit, &template)?;
        }
        Ok(files::make_all(&self.base(), files, &std::fs::read(&template)?)?)
    }

    /// The rows of updates over sockets.
    fn updates(&self, results: &mut Results) -> Result<()> {
        let DaemonPlan { batched, single, files, .. } = *self.plan;
        self.make(&MRTG, files)?;
        folder::sync(self.folder)?;
        let steps = |updates: u64| 2..2 + (updates / files).max(1);
        for batch in BATCHES {
            let loads = [Load::new(&MRTG, 0..files, steps(batched), Some(batch))];
            self.row(&format!("one client, batches of {batch}"), &loads, Route::Unix, results)?;
        }
        self.row(
            &format!("{CLIENTS} clients, batches of {}", BATCHES[0]),
            &self.parts(batched, Some(BATCHES[0])),
            Route::Unix,
            results,
        )?;
        let loads = [Load::new(&MRTG, 0..files, steps(single), None)];
        self.row("one client, one at a time", &loads, Route::Unix, results)?;
        let name = format!("{CLIENTS} clients, one at a time each");
        self.row(&name, &self.parts(single, None), Route::Unix, results)
    }

    /// Updates by several clients, each of files of its own.
    fn parts(&self, updates: u64, batch: Option<u64>) -> Vec<Load> {
        let files = self.plan.files;
        let steps = 2..2 + (updates / files).max(1);
        let part = |client: u64| files * client / CLIENTS..files * (client + 1) / CLIENTS;
        let load = |client| Load::new(&MRTG, part(client), steps.clone(), batch);
        (0..CLIENTS).map(load).collect()
    }

    /// The rows of writers that come by TCP, each from an address of its own, to one daemon.
    fn writers(&self, results: &mut Results) -> Result<()> {
        let DaemonPlan { batched, single, files, .. } = *self.plan;
        self.make(&MRTG, files)?;
        folder::sync(self.folder)?;
        let name = format!("{CLIENTS} addresses, batches of {}", BATCHES[0]);
        self.row(&name, &self.parts(batched, Some(BATCHES[0])), Route::Tcp, results)?;
        let name = format!("{CLIENTS} addresses, one at a time each");
        self.row(&name, &self.parts(single, None), Route::Tcp, results)
    }

    fn row(&self, name: &str, loads: &[Load], route: Route, results: &mut Results) -> Result<()> {
        let mut who = vec![Who::Floor];
        who.extend(self.rrdcached.as_ref().map(|_| Who::Rrdcached));
        who.extend(["none", "os", "disk"].map(Who::Whit));
        let mut contests: Vec<_> = who.iter().map(|who| Contest::new(who.name(), ())).collect();
        in_turn(self.progress, name, self.plan.rounds, &mut contests, |place, contest, _| {
            contest.turns.push(match who[place] {
                Who::Floor => floor(loads, route)?,
                who => self.send(who, loads, route).with_context(|| who.name())?,
            });
            Result::Ok(())
        })?;
        let updates = loads.iter().map(|load| load.updates).sum();
        results.updates.push(Case { name: name.to_owned(), facts: updates, contests });
        Ok(())
    }

    /// A turn of a daemon: each client sends its load.
    fn send(&self, who: Who, loads: &[Load], route: Route) -> Result<Measurement> {
        let mut daemon = self.daemon(who, NO_WRITES_SECONDS, true)?;
        // The first update of a file opens it.
        let first = Load::new(&MRTG, 0..self.plan.files, 1..2, Some(BATCHES[0]));
        let mut watcher = daemon.connect()?;
        watcher.send(&first)?;
        let mut clients = Vec::new();
        for (number, _) in (1..).zip(loads) {
            clients.push(match route {
                Route::Unix => daemon.connect()?,
                Route::Tcp => daemon.connect_from(number)?,
            });
        }
        daemon.begin();
        let (sent, mut turn) = measure_threads(|| {
            std::thread::scope(|scope| {
                let all = clients.iter_mut().zip(loads);
                let threads: Vec<_> =
                    all.map(|(client, load)| scope.spawn(move || client.send(load))).collect();
                threads.into_iter().try_for_each(joined)
            })
        });
        sent?;
        daemon.end(&mut turn);
        let updates = first.updates + loads.iter().map(|load| load.updates).sum::<u64>();
        watcher.wait_for("UpdatesReceived", updates)?;
        Ok(turn)
    }

    /// A number that depends on every byte of a hundred files.
    fn hash(&self, files: u64) -> Result<u64> {
        let mut hasher = std::hash::DefaultHasher::new();
        for number in (0..files).step_by(usize::try_from(files / 100)?.max(1)) {
            std::fs::read(self.base().join(files::name(number)))?.hash(&mut hasher);
        }
        Ok(hasher.finish())
    }

    /// The start with a full journal.
    fn start(&self, results: &mut Results) -> Result<()> {
        let mut who = vec![Who::Whit("os")];
        who.extend(self.rrdcached.as_ref().map(|_| Who::Rrdcached));
        for who in who {
            let start = self.start_of(who).with_context(|| who.name())?;
            results.starts.push(start);
        }
        Ok(())
    }

    fn start_of(&self, who: Who) -> Result<Start> {
        let DaemonPlan { many, steps, rounds, .. } = *self.plan;
        self.make(&ONE_SOURCE, many)?;
        self.progress.show(&format!("filling the journal: {}", who.name()));
        let daemon = self.daemon(who, NO_WRITES_SECONDS, true)?;
        daemon.connect()?.send(&Load::new(&ONE_SOURCE, 0..many, 1..1 + steps, Some(BATCHES[0])))?;
        daemon.stop()?;
        let (name, none) = (who.name(), Vec::new);
        let mut start =
            Start { name, first_update_ms: none(), replayed_ms: none(), written_ms: none() };
        for round in 0..rounds {
            let name = who.name();
            self.progress.show(&format!("start with a full journal: {name}, round {}", round + 1));
            folder::sync(self.folder)?;
            let daemon = self.daemon(who, NO_WRITES_SECONDS, false)?;
            let ms = || daemon.age().as_secs_f64() * 1e3;
            let mut client = daemon.connect()?;
            let step = 1 + steps + round as u64;
            client.send(&Load::new(&ONE_SOURCE, 0..1, step..step + 1, None))?;
            start.first_update_ms.push(ms());
            // This waits until the journal was read.
            let other = files::name(many - 1);
            let pending = client.ask(&format!("PENDING {other}"))?.len() as u64 - 1;
            start.replayed_ms.push(ms());
            ensure!(pending == steps, "{pending} of {steps} updates came back");
            if round + 1 == rounds {
                let begun = ms();
                client.flush_all(many)?;
                start.written_ms.push(ms() - begun);
            }
            daemon.stop()?;
        }
        Ok(start)
    }
}

/// A turn of the floor.
fn floor(loads: &[Load], route: Route) -> Result<Measurement> {
    let mut pairs: Vec<(Client, OwnedFd)> = Vec::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    for (number, _) in (1..).zip(loads) {
        pairs.push(match route {
            Route::Unix => {
                let (ours, theirs) = UnixStream::pair()?;
                (Client::new(ours)?, theirs.into())
            }
            Route::Tcp => {
                let own = Ipv4Addr::new(127, 0, 1, number);
                let ours = Client::from_address(own, listener.local_addr()?)?;
                let (theirs, _) = listener.accept()?;
                theirs.set_nodelay(true)?;
                (ours, theirs.into())
            }
        });
    }
    let (done, turn) = measure_threads(|| {
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for ((mut client, theirs), load) in pairs.into_iter().zip(loads) {
                threads.push(scope.spawn(move || client.send(load)));
                threads.push(scope.spawn(move || client::echo(theirs, load)));
            }
            threads.into_iter().try_for_each(joined)
        })
    });
    done?;
    Ok(turn)
}

/// The result of a thread.
fn joined(thread: std::thread::ScopedJoinHandle<'_, std::io::Result<()>>) -> std::io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a client failed")))
}
