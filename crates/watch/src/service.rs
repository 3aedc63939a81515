//! The service: starts the parts, starts those that fail again, and takes over another configuration.
//!
//! One thread waits for signals, for what parts say, and for times; it does no work of the parts.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use connection::{Address, ListeningSocket, SocketFileRights};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, RenameFlags};
use rustix::process::Signal;
use sample::{Clock, Moment};
use service_account::{ACCOUNT_FILE, ServiceAccount, ServiceRun};

use crate::configuration::{Configuration, ConfigurationError};
use crate::data::DataKind;
use crate::notify::ServiceManager;
use crate::part::{Part, PartState, numbers, run_of, seconds};
use crate::parts::{PartPlan, plan};
use crate::pid_file::{PidFile, PidFileError};
use crate::places::ServicePlaces;
use crate::signals::ServiceSignals;

/// How often the room on the disk is looked at, and the longest wait.
const LOOK_NS: u64 = 5_000_000_000;
/// How often a part is looked at that waits for a recording.
const WAIT_NS: u64 = 100_000_000;
/// How long parts may take to end.
const END_NS: u64 = 30_000_000_000;
/// The length of the account is a multiple of this, so that it seldom changes.
const ACCOUNT_ROOM: usize = 16 << 10;

/// Why a service does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A folder cannot be made or written to.
    #[error("cannot write to {}: choose another folder in [data], or give it to this user", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// The address of the page cannot be had.
    #[error(
        "cannot listen on {address}: end what listens there, or choose another address with [page] listen"
    )]
    Listen {
        /// The address.
        address: Address,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// Another service runs with the same state.
    #[error(transparent)]
    Held(#[from] PidFileError),
    /// The system refuses something.
    #[error("cannot wait for signals and parts")]
    System(#[from] io::Error),
}

/// A running service.
pub struct Service<'a> {
    configuration: Configuration,
    places: ServicePlaces,
    manager: ServiceManager,
    signals: ServiceSignals,
    clock: &'a mut dyn Clock,
    say: &'a dyn Fn(&str),
    parts: Vec<Part>,
    /// Where the page listens; the service manager's sockets come first.
    given: Vec<ListeningSocket>,
    sockets: Vec<ListeningSocket>,
    started: Moment,
    /// The process of the service itself.
    run: Option<ServiceRun>,
    /// Since when there is too little room.
    full_since: Option<Moment>,
    looked_ns: Option<u64>,
    /// When a configuration was refused, and why.
    refused: Option<(Moment, String)>,
    /// The account as it was written last, and why it cannot be written.
    written: String,
    unwritten: Option<String>,
    pid_file: Option<PidFile>,
}

/// Why [`Service::run`] has returned.
#[derive(Debug)]
pub enum ServiceEnd {
    /// INT or TERM asked for it.
    Asked,
    /// This process is no longer the service but one of its parts, and has to run these words.
    Part(Vec<OsString>),
}

impl<'a> Service<'a> {
    /// Makes the folders and opens the sockets.
    ///
    /// # Errors
    /// If a folder or the page's address cannot be had.
    pub fn start(
        configuration: Configuration,
        (places, manager, given): (ServicePlaces, ServiceManager, Vec<ListeningSocket>),
        clock: &'a mut dyn Clock,
        say: &'a dyn Fn(&str),
    ) -> Result<Self, ServiceError> {
        let signals = ServiceSignals::open()?;
        check_folder(configuration.folder().to_owned())?;
        check_folder(places.runtime.clone())?;
        let pid_file = PidFile::at(&places.runtime.join("watch.pid"))?;
        let sockets = match given.is_empty() {
            true => open(configuration.page_address().as_ref())?,
            false => Vec::new(),
        };
        let started = clock.now();
        let mut service = Service {
            configuration,
            places,
            manager,
            signals,
            clock,
            say,
            parts: Vec::new(),
            given,
            sockets,
            started,
            run: run_of(std::process::id()),
            full_since: None,
            looked_ns: None,
            refused: None,
            written: String::new(),
            unwritten: None,
            pid_file: Some(pid_file),
        };
        let plans = service.plans();
        service.parts = plans.into_iter().map(|plan| Part::new(plan, started)).collect();
        Ok(service)
    }

    /// Starts the parts and runs until INT or TERM; `reload` reads the configuration again after HUP.
    ///
    /// The processes of the parts return from here, too ([`ServiceEnd::Part`]).
    ///
    /// # Errors
    /// If the system refuses to wait.
    pub fn run(
        mut self,
        reload: &dyn Fn() -> Result<Configuration, ConfigurationError>,
    ) -> Result<ServiceEnd, ServiceError> {
        let mut news = "READY=1";
        loop {
            if let Some(words) = self.work() {
                // Its end would remove the pid file of the service, and the like.
                std::mem::forget(self);
                return Ok(ServiceEnd::Part(words));
            }
            self.manager.tell(news);
            news = "WATCHDOG=1";
            self.wait()?;
            let asked = self.signals.take_requests();
            // Without a file to read again, HUP says that the terminal is gone.
            if asked.end || asked.reload && self.configuration.path().is_none() {
                break;
            }
            if asked.reload {
                self.reload(reload());
            }
        }
        self.manager.tell("STOPPING=1");
        let all = (0..self.parts.len()).collect::<Vec<_>>();
        self.end_parts(&all)?;
        // It says that nothing runs: a reader finds no service.
        let account = self.places.runtime.join(ACCOUNT_FILE);
        let _ = fs::remove_file(account.with_extension("new"));
        let _ = fs::remove_file(account);
        Ok(ServiceEnd::Asked)
    }

    /// The parts of the configuration, the page with its sockets and the file of the account.
    fn plans(&self) -> Vec<PartPlan> {
        let mut plans = plan(&self.configuration);
        if let Some(alerts) = plans.iter_mut().find(|plan| plan.name == "alerts") {
            let mut word = OsString::from("--parts=");
            word.push(self.places.runtime.join(ACCOUNT_FILE));
            alerts.words.insert(1, word);
        }
        if let Some(page) = plans.iter_mut().find(|plan| plan.name == "page") {
            let numbers =
                numbers(self.page_sockets()).iter().map(i32::to_string).collect::<Vec<_>>();
            page.words.insert(1, format!("--listen=fd:{}", numbers.join(",")).into());
            let mut account = std::ffi::OsString::from("--parts=");
            account.push(self.places.runtime.join(ACCOUNT_FILE));
            page.words.insert(1, account);
        }
        plans
    }

    fn page_sockets(&self) -> &[ListeningSocket] {
        if self.given.is_empty() { &self.sockets } else { &self.given }
    }

    /// Waits for a signal, for what a part says, or for the next thing to do.
    fn wait(&self) -> Result<(), ServiceError> {
        let said = self.parts.iter().filter_map(Part::said);
        let mut watched: Vec<PollFd<'_>> = std::iter::once(self.signals.as_fd())
            .chain(said)
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        let wait_ns = self.wait_ns();
        let time = Timespec {
            tv_sec: (wait_ns / 1_000_000_000).cast_signed(),
            tv_nsec: (wait_ns % 1_000_000_000).cast_signed(),
        };
        match poll(&mut watched, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    fn wait_ns(&self) -> u64 {
        let beat =
            self.manager.beat().map(|beat| u64::try_from(beat.as_nanos()).unwrap_or(LOOK_NS));
        let mut wait_ns = beat.unwrap_or(LOOK_NS).min(LOOK_NS);
        let now_ns = self.looked_ns.unwrap_or(0);
        for part in &self.parts {
            match &part.state {
                PartState::Pauses(until_ns) => {
                    wait_ns = wait_ns.min(until_ns.saturating_sub(now_ns).max(WAIT_NS));
                }
                PartState::Waits(_) if part.plan.reads.is_some() => wait_ns = wait_ns.min(WAIT_NS),
                _ => {}
            }
        }
        wait_ns
    }

    /// Looks at all parts and starts those that are due.  In the process of one that was started, gives
    /// the words that it has to run.
    fn work(&mut self) -> Option<Vec<OsString>> {
        let now = self.clock.now();
        self.look_at_room(now);
        self.looked_ns = Some(now.monotonic_ns);
        let lost: Vec<usize> =
            (0..self.parts.len()).filter(|at| self.parts[*at].lost_folder().is_some()).collect();
        for part in lost.iter().map(|at| &self.parts[*at]) {
            let folder = part.lost_folder().unwrap_or(self.configuration.folder()).display();
            (self.say)(&format!("{}: {folder} was removed: it is ended", part.plan.name));
        }
        if !lost.is_empty() && self.end_parts(&lost).is_err() {
            (self.say)("cannot wait for the parts whose folders were removed");
        }
        let sockets = numbers(self.page_sockets());
        for part in &mut self.parts {
            part.look(self.say, now);
            let is_due = match &part.state {
                PartState::Runs(..) => false,
                PartState::Pauses(until_ns) => now.monotonic_ns >= *until_ns,
                PartState::Waits(_) => true,
            };
            if !is_due {
                continue;
            }
            match obstacle(&part.plan, self.full_since, &self.configuration) {
                None => {
                    let words = part.start(&self.places.program, &sockets, now);
                    if words.is_some() {
                        return words;
                    }
                }
                Some(why) => {
                    if !matches!(&part.state, PartState::Waits(known) if *known == why) {
                        (self.say)(&format!("{}: waits: {why}", part.plan.name));
                        part.become_state(PartState::Waits(why), now);
                    }
                }
            }
        }
        self.keep_account();
        None
    }

    /// Ends the parts that write when the disk is nearly full, and lets them start when it is not.
    fn look_at_room(&mut self, now: Moment) {
        let folder = self.configuration.folder();
        let Ok(room) = rustix::fs::statvfs(folder) else { return };
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        let least = self.configuration.free_min();
        // Not at the same mark, so that parts do not start and end all the time.
        let wanted = if self.full_since.is_some() { least / 4 * 5 } else { least };
        let shown = folder.display();
        match (free < wanted, self.full_since) {
            (true, None) => {
                self.full_since = Some(now);
                let free = free >> 20;
                (self.say)(&format!(
                    "{shown} has {free} MiB free, less than [data] free_min: nothing new is written \
                     until there is room"
                ));
                let writes = |index: &usize| self.parts[*index].plan.writes;
                let writers: Vec<usize> = (0..self.parts.len()).filter(writes).collect();
                if self.end_parts(&writers).is_err() {
                    (self.say)("cannot wait for the parts that write");
                }
            }
            (false, Some(_)) => {
                self.full_since = None;
                (self.say)(&format!("{shown} has room again: parts that write start"));
            }
            _ => {}
        }
    }

    /// Ends parts, which wait from then on.
    fn end_parts(&mut self, indices: &[usize]) -> Result<(), ServiceError> {
        for index in indices {
            self.parts[*index].signal(Signal::TERM);
        }
        let until_ns = self.clock.now().monotonic_ns.saturating_add(END_NS);
        loop {
            let now = self.clock.now();
            let mut runs = false;
            for index in indices {
                let part = &mut self.parts[*index];
                part.listen(self.say, now);
                let PartState::Runs(process, _) = &part.state else { continue };
                match process.try_wait() {
                    Ok(None) if now.monotonic_ns >= until_ns => {
                        (self.say)(&format!("{}: it does not end and is killed", part.plan.name));
                        part.signal(Signal::KILL);
                        runs = true;
                    }
                    Ok(None) => runs = true,
                    _ => {
                        part.listen(self.say, now);
                        part.become_state(PartState::Waits("it starts".to_owned()), now);
                    }
                }
            }
            if !runs {
                return Ok(());
            }
            self.manager.tell("WATCHDOG=1");
            // The end of a part is a signal, which stays readable for the loop of `run`.
            let time = Timespec { tv_sec: 0, tv_nsec: i64::from(10_000_000) };
            let _ = poll(&mut [], Some(&time));
        }
    }

    /// Takes another configuration over; a wrong one leaves the old one in force.
    fn reload(&mut self, read: Result<Configuration, ConfigurationError>) {
        let now = self.clock.now();
        self.manager.tell("RELOADING=1");
        let taken =
            read.map_err(|error| error.to_string()).and_then(|new| self.take_over(new, now));
        match taken {
            Ok(()) => {
                self.refused = None;
                (self.say)("the configuration was read again");
            }
            Err(text) => {
                (self.say)("the configuration is refused and the old one stays in force:");
                text.lines().for_each(self.say);
                self.refused = Some((now, text));
            }
        }
        self.manager.tell("READY=1");
    }

    fn take_over(&mut self, new: Configuration, now: Moment) -> Result<(), String> {
        let with_causes = |error: ServiceError| text::error_text::with_causes(&error);
        check_folder(new.folder().to_owned()).map_err(with_causes)?;
        let address = new.page_address();
        if self.given.is_empty() && address != self.configuration.page_address() {
            self.sockets = open(address.as_ref()).map_err(with_causes)?;
        }
        self.configuration = new;
        let plans = self.plans();
        let stays = |part: &Part| plans.contains(&part.plan);
        let leave: Vec<usize> =
            (0..self.parts.len()).filter(|index| !stays(&self.parts[*index])).collect();
        self.end_parts(&leave).map_err(with_causes)?;
        let mut old: Vec<Part> = std::mem::take(&mut self.parts);
        for plan in plans {
            let same = old.iter().position(|part| part.plan == plan);
            let part = same.map(|index| old.swap_remove(index));
            self.parts.push(part.unwrap_or_else(|| Part::new(plan, now)));
        }
        Ok(())
    }

    /// Writes the account of the parts, if it has changed.
    fn keep_account(&mut self) {
        let account = self.account().json().to_string();
        let is_there = self.places.runtime.join(ACCOUNT_FILE).exists();
        if account == self.written && is_there {
            return;
        }
        if fs::create_dir(&self.places.runtime).is_ok() {
            // It was removed, with what holds it for this service.
            self.pid_file = None;
            match PidFile::at(&self.places.runtime.join("watch.pid")) {
                Ok(file) => self.pid_file = Some(file),
                Err(error) => (self.say)(&text::error_text::with_causes(&error)),
            }
        }
        let written = self.write_account(&account).map_err(|error| {
            let path = self.places.runtime.join(ACCOUNT_FILE);
            format!("cannot write {}: {error}", path.display())
        });
        if let Err(error) = &written
            && self.unwritten.as_ref() != Some(error)
        {
            (self.say)(error);
        }
        let is_written = written.is_ok();
        self.unwritten = written.err();
        if !is_written {
            return;
        }
        let runs = self.parts.iter().filter(|part| part.said().is_some()).count();
        let all = self.parts.len();
        self.manager.tell(&format!("STATUS={runs} of {all} parts run"));
        self.written = account;
    }

    /// Writes the account beside the old one and exchanges the two.  Both keep their length, so that the
    /// account can still be written when the disk is full, which is what it then has to say.
    fn write_account(&self, account: &str) -> io::Result<()> {
        let path = self.places.runtime.join(ACCOUNT_FILE);
        let new = path.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(false).mode(0o640).open(&new)?;
        let mut text = account.as_bytes().to_vec();
        // Spaces behind an object of JSON mean nothing.
        text.resize(text.len().next_multiple_of(ACCOUNT_ROOM), b' ');
        file.write_all(&text)?;
        file.set_len(text.len() as u64)?;
        if path.exists() {
            return Ok(rustix::fs::renameat_with(CWD, &new, CWD, &path, RenameFlags::EXCHANGE)?);
        }
        fs::rename(&new, &path)?;
        fs::write(&new, &text)
    }

    fn account(&self) -> ServiceAccount {
        let path = |name: &str| self.configuration.path_of(name);
        let alerts = path("alerts.folder");
        ServiceAccount {
            pid: Some(std::process::id()),
            started_s: Some(seconds(self.started)),
            configuration: self.configuration.path().map(|path| path.display().to_string()),
            refused: self.refused.as_ref().map(|(at, text)| (seconds(*at), text.clone())),
            folder: Some(self.configuration.folder().display().to_string()),
            recordings: path(DataKind::Recordings.key()),
            log_store: path(DataKind::Log.key()),
            alerts: alerts.filter(|_| self.configuration.is_on("alerts.enabled")),
            full_since_s: self.full_since.map(seconds),
            runs: self.run.into_iter().collect(),
            parts: self.parts.iter().map(Part::account).collect(),
        }
    }
}

/// Why a part cannot start.
fn obstacle(
    plan: &PartPlan,
    full_since: Option<Moment>,
    configuration: &Configuration,
) -> Option<String> {
    if plan.writes && full_since.is_some() {
        let folder = configuration.folder().display();
        return Some(format!("the disk of {folder} is nearly full"));
    }
    if plan.writes && !configuration.folder().is_dir() {
        let folder = configuration.folder().display();
        // It may be a disk that is not mounted: another one is not filled instead.
        return Some(format!("the folder of [data], {folder}, was removed: make it again"));
    }
    let folder = plan.reads.as_ref()?;
    let is_recording =
        |entry: fs::DirEntry| entry.path().extension().is_some_and(|end| end == "whit");
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    (!entries.any(is_recording))
        .then(|| format!("there is no recording in {} yet", folder.display()))
}

/// Makes a folder and tries to write in it.
fn check_folder(path: PathBuf) -> Result<(), ServiceError> {
    let probe = path.join(".whit-probe");
    let tried = fs::create_dir_all(&path).and_then(|()| fs::write(&probe, b""));
    // A full disk is no reason not to start.
    let tried = tried.or_else(|error| match error.kind() {
        io::ErrorKind::StorageFull => Ok(()),
        _ => Err(error),
    });
    let _ = fs::remove_file(&probe);
    tried.map_err(|error| ServiceError::Folder { path, error })
}

/// Opens the sockets of the page.
fn open(address: Option<&Address>) -> Result<Vec<ListeningSocket>, ServiceError> {
    let Some(address) = address else { return Ok(Vec::new()) };
    let opened = match address {
        Address::Unix(path) => {
            let rights = SocketFileRights { mode: Some(0o600), ..SocketFileRights::default() };
            ListeningSocket::bind_unix(path, &rights).map(|socket| vec![socket])
        }
        Address::Network { host, port, .. } => ListeningSocket::bind_host(host, *port),
    };
    opened.map_err(|error| ServiceError::Listen { address: address.clone(), error })
}
