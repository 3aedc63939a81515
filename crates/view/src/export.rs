//! collectl's `--export` formats: other programs' lines and packets.  [`ALL`] lists them.
//!
//! An [`Export`] is a view and the place its bytes go to; the caller opens the place, since
//! nothing here does I/O.  `lexpr` and `vmstat` write text; `graphite` writes lines for a TCP
//! connection to carbon; `gexpr` writes packets for Ganglia's gmond, each with one call of
//! `write`, so that a writer that sends a datagram for each call is all that is needed.
//!
//! Names and values come from [`layout::Layout::metrics`]; what other formats than `lexpr` call
//! them is in `names`; the options that all share are in `report`.

use std::path::{Path, PathBuf};

use crate::{Setup, View};

mod gexpr;
mod graphite;
mod lexpr;
mod names;
mod report;
mod tree;
mod vmstat;

use report::Report;

/// An export as the command line knows it.
#[derive(Debug)]
pub struct ExportEntry {
    /// Its name behind `--export`.
    pub name: &'static str,
    /// Whether a switch of its name chooses it, too.
    pub has_switch: bool,
    /// The subsystems that it shows.
    pub subsystems: ExportSubsystems,
    /// Opens it with the options that followed its name.
    pub open: fn(&[&str], &Setup, &Setting) -> Result<Export, ExportError>,
}

/// The subsystems that an export shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportSubsystems {
    /// Those of `-s`.
    Chosen,
    /// These letters, which stand for `about`; `-s` is refused.
    Fixed {
        /// The letters.
        letters: &'static str,
        /// What they are, in words.
        about: &'static str,
    },
    /// Processes alone; `-s` is refused.
    Processes,
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
];

/// The entry of an export by its name.
pub fn find(name: &str) -> Option<&'static ExportEntry> {
    ALL.iter().find(|entry| entry.name == name)
}

/// The names of all exports as a sentence has them: `a, b or c`.
pub fn list_names(last: &str) -> String {
    let names: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
    match names.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{} {last} {end}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// An export, ready to be begun.
pub struct Export {
    /// What turns frames into bytes.
    pub view: Box<dyn View>,
    /// Where they go.
    pub destination: Destination,
    /// Whether they are shown on the terminal too.
    pub echo: Echo,
    /// Graphite's `r=`: before what one frame gave is sent, wait a random time up to this, so
    /// that many machines do not speak at once.
    pub delay_max_seconds: u32,
}

/// Where an export's bytes go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To the terminal, or to the socket of `-A`.
    Output,
    /// To a file that is replaced as a whole each time a frame gives bytes.
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
}

/// What an export shows on the terminal beside sending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Nothing.
    Nothing,
    /// The bytes themselves (graphite's `d=1`).
    Text,
    /// The bytes of each packet in hexadecimal (gexpr's `d=4`).
    Hex,
}

/// What an export must know of the command it is part of.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Whether recordings are played, rather than this machine sampled.
    pub playing: bool,
    /// Whether samples are aligned to whole minutes (`--align`, `-D`).
    pub aligned: bool,
    /// `-f`, if given: `lexpr` keeps its snapshot beside it.
    pub file: Option<PathBuf>,
    /// Whether `-A` sends the output somewhere.
    pub sending: bool,
    /// Whether `-P` or `--rawtoo` asks for files beside the export.
    pub writing: bool,
    /// The machine's name with its domain, for graphite's `f`.
    pub full_host_name: Option<String>,
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
    /// An option that the export does not have, or a value it cannot take.
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
/// [`ExportError`]; its [`Help`](ExportError::Help) is no failure.
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

/// A debugging mask, of which only `known` bits mean anything here.
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
    // An IPv6 address stands in brackets when a port follows.
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

/// Exports that send by themselves keep files only when told what to keep.
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
