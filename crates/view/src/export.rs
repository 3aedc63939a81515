//! collectl's `--export` formats: other programs' lines, packets and files.  [`ALL`] lists them.
//!
//! An [`Export`] is a view and the destination of its bytes; the caller opens the destination,
//! because nothing here does I/O.  `lexpr` and `vmstat` write text; `graphite` writes lines for a
//! TCP connection to carbon; `gexpr` writes packets for Ganglia's gmond, each by one call of
//! `write`, so a writer can send a datagram for each call.
//!
//! Names and values come from [`layout::Layout::metrics`]; the names in formats other than `lexpr`
//! are in `names`; the common options are in `report`.

use std::path::{Path, PathBuf};

use crate::{Setup, View};

mod gexpr;
mod graphite;
mod lexpr;
mod names;
mod report;
mod rrd;
mod tree;
mod vmstat;

use report::Report;
pub use rrd::DEFAULT_TABLE;

/// The registry entry of an export.
#[derive(Debug)]
pub struct ExportEntry {
    /// The name after `--export`.
    pub name: &'static str,
    /// Whether it is also selected by a switch of its name.
    pub has_switch: bool,
    /// The subsystems that it shows.
    pub subsystems: ExportSubsystems,
    /// Opens it with the options that follow its name.
    pub open: fn(&[&str], &Setup, &Setting) -> Result<Export, ExportError>,
}

/// The subsystems that an export shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportSubsystems {
    /// The subsystems that `-s` selects.
    Chosen,
    /// These letters, described by `about`; `-s` is refused.
    Fixed {
        /// The letters.
        letters: &'static str,
        /// What they are, in words.
        about: &'static str,
    },
    /// Processes alone; `-s` is refused.
    Processes,
    /// The subsystems that `-s` selects; without `-s`, these letters instead of what is shown
    /// otherwise.
    Preferred(&'static str),
}

impl ExportEntry {
    const EMPTY: ExportEntry = ExportEntry {
        name: "",
        has_switch: false,
        subsystems: ExportSubsystems::Chosen,
        open: |_, _, _| Err(ExportError::Unknown(String::new())),
    };
}

/// Every export.
pub static ALL: &[ExportEntry] = &[
    ExportEntry {
        name: "lexpr",
        open: |options, _, setting| lexpr::open(options, setting),
        ..ExportEntry::EMPTY
    },
    ExportEntry {
        name: "graphite",
        open: |options, _, setting| graphite::open(options, setting),
        ..ExportEntry::EMPTY
    },
    ExportEntry {
        name: "gexpr",
        open: |options, _, setting| gexpr::open(options, setting),
        ..ExportEntry::EMPTY
    },
    ExportEntry {
        name: "vmstat",
        has_switch: true,
        subsystems: ExportSubsystems::Fixed { letters: "cm", about: "CPU and memory" },
        open: vmstat::open,
    },
    ExportEntry {
        name: "proctree",
        subsystems: ExportSubsystems::Processes,
        open: tree::open,
        ..ExportEntry::EMPTY
    },
    ExportEntry {
        name: "rrd",
        subsystems: ExportSubsystems::Preferred(rrd::LETTERS),
        open: |options, _, setting| rrd::open(options, setting),
        ..ExportEntry::EMPTY
    },
];

/// The entry of the export with this name.
pub fn find(name: &str) -> Option<&'static ExportEntry> {
    ALL.iter().find(|entry| entry.name == name)
}

/// The names of all exports as in a sentence: `a, b or c`.
pub fn list_names(last: &str) -> String {
    let names: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
    match names.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{} {last} {end}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// An open export.
pub struct Export {
    /// Makes bytes of frames.
    pub view: Box<dyn View>,
    /// The destination of the bytes.
    pub destination: Destination,
    /// Whether they are also shown on the terminal.
    pub echo: Echo,
    /// Graphite's `r=`: the bytes of each frame are sent after a random time up to this, so that
    /// many machines do not send at once.
    pub delay_max_seconds: u32,
}

/// The destination of an export's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To the terminal, or to the socket of `-A`.
    Output,
    /// To a file that is replaced as a whole for each frame with bytes.
    Snapshot(PathBuf),
    /// To a TCP connection, which is opened again when it breaks.
    Tcp {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
    },
    /// As UDP datagrams; the address may be a multicast group.
    Udp {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
    },
    /// Nowhere (`d=8`).
    Nowhere,
    /// To round-robin databases, as numbers: the view itself writes nothing.
    Databases(Databases),
}

/// Round-robin databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Databases {
    /// The folder that they are below.
    pub folder: PathBuf,
    /// The table that says what they keep; `None` for the default.
    pub table: Option<PathBuf>,
    /// Seconds of samples that are written at once; `None` for as many as memory is set aside for.
    pub batch_seconds: Option<u32>,
    /// No file is begun that makes the folder larger.
    pub limit_bytes: u64,
    /// The caching daemon that writes them; `None` to write them directly.
    pub daemon: Option<DatabaseDaemon>,
}

/// A caching daemon and how it is reached, as RRDtool's variables say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseDaemon {
    /// `RRDCACHED_ADDRESS`; empty for none.
    pub address: String,
    /// `RRDCACHED_STRIPPATH`: a folder that names on another machine do not begin with.
    pub stripped_folder: Option<String>,
    /// Authorities (CA), certificate and key for encrypted connections.
    pub tls: [Option<PathBuf>; 3],
}

/// What an export shows on the terminal in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Nothing.
    Nothing,
    /// The bytes themselves (graphite's `d=1`).
    Text,
    /// The bytes of each packet in hexadecimal (gexpr's `d=4`).
    Hex,
}

/// What an export must know about the command.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Whether recordings are played, rather than this machine sampled.
    pub playing: bool,
    /// Whether samples are aligned to whole minutes (`--align`, `-D`).
    pub aligned: bool,
    /// `-f`, if given: `lexpr` keeps its snapshot beside it.
    pub file: Option<PathBuf>,
    /// Whether `-A` sends the output.
    pub sending: bool,
    /// Whether `-P` or `--rawtoo` asks for files in addition.
    pub writing: bool,
    /// The machine's name with its domain, for graphite's `f`.
    pub full_host_name: Option<String>,
    /// The caching daemon of the environment.
    pub daemon: DatabaseDaemon,
}

/// Why an export cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Not an export.
    #[error("--export: no export is called '{0}'; there are {names}", .names = list_names("and"))]
    Unknown(String),
    /// `h`: the text to show instead of running.
    #[error("{0}")]
    Help(String),
    /// An unknown option, or an invalid value.
    #[error("--export {export}: {text}")]
    Option {
        /// The export.
        export: &'static str,
        /// What is wrong and what to do.
        text: String,
    },
}

/// Opens an export by its name and the options that followed it.
///
/// # Errors
/// [`ExportError`]; [`Help`](ExportError::Help) is not a failure.
pub fn open(
    name: &str,
    options: &[&str],
    setup: &Setup,
    setting: &Setting,
) -> Result<Export, ExportError> {
    match find(name) {
        Some(entry) => (entry.open)(options, setup, setting),
        None => Err(ExportError::Unknown(name.to_owned())),
    }
}

/// `name=value`, or a name alone.
fn split(option: &str) -> (&str, &str) {
    option.split_once('=').unwrap_or((option, ""))
}

/// A debugging mask, of which only the bits of `known` are supported.
fn mask(export: &'static str, value: &str, known: u32) -> Result<u32, ExportError> {
    let mask = value.parse::<u32>().ok().filter(|mask| mask & !known == 0);
    mask.ok_or_else(|| ExportError::Option {
        export,
        text: format!("d={value}: only the bits of {known} mean anything to whit"),
    })
}

/// `host[:port]`.
fn address(
    export: &'static str,
    given: Option<&&str>,
    port: Option<u16>,
) -> Result<(String, u16), ExportError> {
    let wrong = |text: String| ExportError::Option { export, text };
    let given = given.filter(|given| !given.is_empty() && !given.contains('='));
    let given =
        *given.ok_or_else(|| wrong("give the address first: --export NAME,HOST:PORT".into()))?;
    // An IPv6 address before a port is in brackets.
    let (host, number) = match given.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match given.split_once(':') {
            Some((host, number)) if !number.contains(':') => (host, Some(number)),
            _ => (given, None),
        },
    };
    let port = match number {
        None => port.ok_or_else(|| wrong(format!("'{given}' has no port; give HOST:PORT")))?,
        Some(number) => number
            .parse()
            .map_err(|_| wrong(format!("'{number}' in '{given}' is not a port number")))?,
    };
    Ok((host.to_owned(), port))
}

/// Exports that send write files only if an option says which.
fn check_files(export: &'static str, setting: &Setting) -> Result<(), ExportError> {
    let text = match (setting.file.is_some(), setting.writing) {
        (true, false) => "-f needs -P or --rawtoo beside it: an export writes no recording",
        (false, true) => "-P and --rawtoo need -f, which says where their files go",
        _ => return Ok(()),
    };
    Err(ExportError::Option { export, text: text.into() })
}

/// The snapshot file of `lexpr` beside `-f`: `L` in that folder.
fn snapshot_beside(file: &Path, is_folder: bool) -> PathBuf {
    let folder = if is_folder { file } else { file.parent().unwrap_or(Path::new("")) };
    folder.join("L")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let read = |text: &str, port| address("graphite", Some(&text), port);
        assert_eq!(read("carbon", Some(2003)).unwrap(), ("carbon".into(), 2003));
        assert_eq!(read("carbon:99", None).unwrap(), ("carbon".into(), 99));
        assert_eq!(read("[::1]:99", None).unwrap(), ("::1".into(), 99));
        assert_eq!(read("::1", Some(2003)).unwrap(), ("::1".into(), 2003));
        for wrong in ["", "carbon", "carbon:x", "i=5", "carbon:99999"] {
            assert!(read(wrong, None).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_is_no_export_is_named() {
        let setup = Setup::of(jiff::tz::TimeZone::UTC);
        let error = open("lexpress", &[], &setup, &Setting::default()).err().unwrap();
        assert!(error.to_string().contains("'lexpress'"));
    }
}
