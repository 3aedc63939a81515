//! Records of others: syslog, OTLP, files, standard input, the journal, the kernel.
//!
//! Each input is a thread that writes records into rings as every program does, in the folder of the
//! proxy's rings; so what an input took in survives a kill of the proxy, and a full spool makes it
//! wait.  What can be read again from some place on has a cursor: see `cursor`.
//!
//! [`FORMS`] has them all: one line and one file for each.

mod batch;
mod cursor;
mod fields;
mod folder;
mod follow;
mod frames;
mod journal;
mod journal_cursor;
mod journal_files;
mod kept;
mod kernel;
mod otlp;
mod otlp_fields;
mod output;
mod sockets;
mod standard;
mod streams;
mod syslog;

use std::collections::HashSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use connection::ServerTls;
use http_server::Credentials;
use logring::Tier;
use logring::writer::{FullPolicy, RingSettings};

use cursor::CursorFile;
use folder::Folder;
use output::InputRecords;

pub use frames::{InputFrame, InputFrames};
pub(crate) use journal::entries_of_files;
pub use syslog::SyslogMessage;

/// Longest text of one record; what is longer is left out, and counted in it.
pub const TEXT_BYTES_MAX: usize = 128 << 10;
/// How long an input waits before it looks again whether it is to end.
const PATIENCE: Duration = Duration::from_millis(200);

/// What an input works with.
struct InputPlace {
    /// What stands behind the form's name.
    target: String,
    records: InputRecords,
    cursor: CursorFile,
    /// The folder of which it is a file; then it ends when the file is removed.
    folder: Option<Arc<Folder>>,
    control: Arc<InputControl>,
    security: Arc<InputSecurity>,
    /// When a record may be acknowledged.
    tier: Tier,
}

impl InputPlace {
    fn is_ending(&self) -> bool {
        self.control.is_ending.load(Ordering::Acquire)
    }
}

/// What inputs and their owner share.
struct InputControl {
    is_ending: AtomicBool,
    /// Ends at the end of what is there.
    is_once: bool,
    running: AtomicUsize,
    /// The folder of cursors, and that of rings, which complete them.
    cursors: PathBuf,
    rings: PathBuf,
    /// Files that somebody follows.
    followed: Mutex<HashSet<PathBuf>>,
    /// All files of folders that were read since the start.
    files_read: Mutex<HashSet<FileIdentity>>,
}

impl InputControl {
    /// The cursor of an input.
    fn cursor(&self, name: &str) -> io::Result<CursorFile> {
        CursorFile::open(&self.cursors, &self.rings, name)
    }

    /// Notes that a file is followed; `false`: it was already.
    fn follow(&self, path: &Path) -> bool {
        self.followed.lock().is_ok_and(|mut all| all.insert(with_whole_folder(path)))
    }

    /// Notes that a file is read, whatever its name becomes.  An inode is used again: without a time at
    /// which it was made, the file stays unknown, and may be read twice.
    fn note_read(&self, facts: &Metadata) {
        if let (Some(file), Ok(mut all)) = (identity(facts), self.files_read.lock()) {
            all.insert(file);
        }
    }

    fn was_read(&self, facts: &Metadata) -> bool {
        let all = self.files_read.lock();
        identity(facts).is_some_and(|file| all.is_ok_and(|all| all.contains(&file)))
    }

    fn is_followed(&self, path: &Path) -> bool {
        self.followed.lock().is_ok_and(|all| all.contains(&with_whole_folder(path)))
    }

    /// A file is not followed any more.
    fn forget(&self, path: &Path) {
        if let Ok(mut all) = self.followed.lock() {
            all.remove(&with_whole_folder(path));
        }
    }
}

/// Device and inode of a file, and when it was made.
type FileIdentity = (u64, u64, SystemTime);

fn identity(facts: &Metadata) -> Option<FileIdentity> {
    Some((facts.dev(), facts.ino(), facts.created().ok()?))
}

/// A path by which files are compared: two spellings of a folder are one.
fn with_whole_folder(path: &Path) -> PathBuf {
    let folder = follow::folder_of(path).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Runs an input: until its end, or until it is told to end.
type Run = fn(&mut InputPlace) -> io::Result<()>;
/// Opens what an input needs before the proxy works, so that a wrong target ends the start.
type OpenInput = fn(InputPlace) -> io::Result<OpenedInput>;
/// Runs an input that is open.
type OpenedInput = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// A form of input.
struct InputForm {
    /// The name of the form, which is also that of its logger.
    name: &'static str,
    /// What is given behind the name; empty: nothing.
    target: &'static str,
    /// Whether it may also be left out.
    has_default: bool,
    open: OpenInput,
    /// Whether it comes to an end by itself.
    has_end: bool,
}

/// All forms.
const FORMS: [InputForm; 6] = [
    InputForm {
        name: "stdin",
        target: "",
        has_default: false,
        open: |place| later(place, standard::run),
        has_end: true,
    },
    InputForm {
        name: "file",
        target: "PATH, FOLDER or FOLDER/PATTERN",
        has_default: false,
        open: folder::open,
        has_end: true,
    },
    InputForm {
        name: "syslog",
        target: "SOCKET, HOST:PORT, tcp:HOST:PORT or tls:HOST:PORT",
        has_default: false,
        open: sockets::open,
        has_end: false,
    },
    InputForm {
        name: "otlp",
        target: "SOCKET, HOST:PORT or tls:HOST:PORT",
        has_default: false,
        open: otlp::open,
        has_end: false,
    },
    InputForm {
        name: "journal",
        target: "FOLDER",
        has_default: true,
        open: journal::open,
        has_end: true,
    },
    InputForm {
        name: "kernel",
        target: "",
        has_default: false,
        open: |place| later(place, kernel::run),
        has_end: true,
    },
];

/// An input that opens nothing before.
fn later(mut place: InputPlace, run: Run) -> io::Result<OpenedInput> {
    Ok(Box::new(move || run(&mut place)))
}

/// Why inputs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogInputError {
    /// No form of this name, or not what belongs to it.
    #[error("{0}: an input is {1}")]
    Form(String, String),
    /// It never ends.
    #[error("{0}: this input has no end: leave out --once")]
    Endless(String),
    /// The same input twice.
    #[error("{0}: this input is given twice")]
    Twice(String),
    /// Something that no input uses.
    #[error("{0} is for inputs {1}, and there is none")]
    Unused(&'static str, &'static str),
    /// The rings of the inputs.
    #[error("the rings of the inputs: {0}")]
    Rings(#[from] logring::Error),
    /// Something of the input itself.
    #[error("{0}: {1}")]
    Open(String, io::Error),
}

/// What inputs that listen on a network show and ask for.
#[derive(Debug, Clone, Default)]
pub struct InputSecurity {
    /// The certificate of addresses with `tls:`.
    pub tls: Option<ServerTls>,
    /// Who may send by OTLP; without it programs of this machine, or clients with a certificate.
    pub credentials: Option<Arc<Credentials>>,
}

/// What inputs are told.
#[derive(Debug, Clone)]
pub struct LogInputSettings {
    /// The folder of rings, which the proxy reads.
    pub rings: PathBuf,
    /// The folder of cursors.
    pub cursors: PathBuf,
    /// Name of this host.
    pub host: String,
    /// Inputs end at the end of what is there.
    pub is_once: bool,
    /// What inputs on a network show and ask for.
    pub security: InputSecurity,
    /// How safe a record must be before its sender is told that it is kept.
    pub tier: Tier,
}

/// Inputs that run.
pub struct Inputs {
    control: Arc<InputControl>,
    threads: Vec<JoinHandle<()>>,
}

impl Inputs {
    /// Starts inputs by their names: `file:/var/log/messages`.  To be called before the proxy's first
    /// round, which removes the rings in which cursors of a killed proxy are completed.
    ///
    /// # Errors
    /// If a name is none, or an input, its cursor or its rings cannot be opened.
    pub fn start(names: &[String], settings: &LogInputSettings) -> Result<Self, LogInputError> {
        let control = InputControl {
            is_ending: AtomicBool::new(false),
            is_once: settings.is_once,
            running: AtomicUsize::new(names.len()),
            cursors: settings.cursors.clone(),
            rings: settings.rings.clone(),
            followed: Mutex::default(),
            files_read: Mutex::default(),
        };
        let mut inputs = Inputs { control: Arc::new(control), threads: Vec::new() };
        settings.security.check(names)?;
        if names.is_empty() {
            return Ok(inputs);
        }
        let security = Arc::new(settings.security.clone());
        let mut forms = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let form = form_of(name)?;
            if settings.is_once && !form.0.has_end {
                return Err(LogInputError::Endless(name.clone()));
            }
            if names[..at].contains(name) {
                return Err(LogInputError::Twice(name.clone()));
            }
            forms.push((name, form));
        }
        let opened = |name: &String, error| LogInputError::Open(name.clone(), error);
        std::fs::create_dir_all(&settings.cursors)
            .map_err(|error| opened(&settings.cursors.display().to_string(), error))?;
        let mut rings = RingSettings::new(settings.rings.clone(), &settings.host, "whit log proxy");
        // A full spool makes inputs wait: what can be read again is not lost then.
        rings.policies = [FullPolicy::Block; 16];
        rings.block_timeout_ns = u64::MAX >> 1;
        (rings.level_central, rings.level_local) = (1, 1);
        logring::writer::start(rings)?;
        CursorFile::complete_all(&settings.cursors, &settings.rings)
            .map_err(|error| opened(&settings.cursors.display().to_string(), error))?;
        let mut runs = Vec::new();
        for (name, (form, target)) in forms {
            let place = InputPlace {
                target: target.to_owned(),
                records: InputRecords::new(form.name, target)?,
                cursor: inputs.control.cursor(name).map_err(|error| opened(name, error))?,
                folder: None,
                control: Arc::clone(&inputs.control),
                security: Arc::clone(&security),
                tier: settings.tier,
            };
            runs.push((name, form, (form.open)(place).map_err(|error| opened(name, error))?));
        }
        for (name, form, run) in runs {
            let (control, name) = (Arc::clone(&inputs.control), name.clone());
            let logger = form.name;
            let thread = std::thread::Builder::new().name(form.name.to_owned()).spawn(move || {
                if let Err(error) = run() {
                    let text = format!("input {name} has ended: {error}");
                    if let Ok(records) = InputRecords::new(logger, "") {
                        records.write_own(logring::LogLevel::Error, &text);
                    }
                }
                control.running.fetch_sub(1, Ordering::AcqRel);
            });
            inputs.threads.push(thread.map_err(|error| opened(&form.name.to_owned(), error))?);
        }
        Ok(inputs)
    }

    /// Whether all inputs have come to their ends.
    #[must_use]
    pub fn are_done(&self) -> bool {
        self.control.running.load(Ordering::Acquire) == 0
    }

    /// Tells inputs to end, and waits until they have: not for those that wait for room in the rings.
    pub fn end(self) {
        self.control.is_ending.store(true, Ordering::Release);
        let begin = log_protocol::clock::now();
        for thread in &self.threads {
            while !thread.is_finished() && log_protocol::clock::now() - begin < PATIENCE * 5 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        if !self.threads.is_empty() {
            logring::writer::end();
        }
    }
}

impl InputSecurity {
    /// Refuses what no input uses: nobody is to believe that something is protected which is not.
    fn check(&self, names: &[String]) -> Result<(), LogInputError> {
        let is_there = |what: &[&str]| {
            names.iter().any(|name| what.iter().any(|start| name.starts_with(start)))
        };
        if self.tls.is_some() && !is_there(&["syslog:tls:", "otlp:tls:"]) {
            return Err(LogInputError::Unused("the certificate", "with tls:"));
        }
        if self.credentials.is_some() && !is_there(&["otlp:"]) {
            return Err(LogInputError::Unused("the token", "of otlp:"));
        }
        Ok(())
    }
}

/// The form of a name, and what is behind it.
fn form_of(name: &str) -> Result<(&'static InputForm, &str), LogInputError> {
    let (form, target) = name.split_once(':').unwrap_or((name, ""));
    let found = FORMS.iter().find(|one| one.name == form);
    let fits = |found: &&InputForm| match target.is_empty() {
        true => found.target.is_empty() || found.has_default,
        false => !found.target.is_empty(),
    };
    match found.filter(fits) {
        Some(found) => Ok((found, target)),
        None => {
            let forms = FORMS.iter().map(|form| match (form.target, form.has_default) {
                ("", _) => form.name.to_owned(),
                (target, false) => format!("{}: and {target}", form.name),
                (target, true) => format!("{0}, or {0}: and {target}", form.name),
            });
            Err(LogInputError::Form(name.to_owned(), forms.collect::<Vec<_>>().join("; ")))
        }
    }
}
