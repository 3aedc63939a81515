//! What a configuration file says, typed: global settings, targets, queries and devices.

mod assign;
mod build;
mod glob;
mod global;
mod options;
mod resolve;
mod rules;
mod text;

use std::path::{Path, PathBuf};

use crate::conversion::Conversions;
use crate::device::{Device, SnmpOptions};
use crate::problem::{ConfigLine, ConfigProblem, Problems};
use crate::target::{ObjectNames, PollTarget, Query};

/// Where readings are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// MRTG's own `.log` files, with pages and pictures.
    #[default]
    Rateup,
    /// Round-robin databases.
    Rrdtool,
}

/// A whole configuration.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Settings for all targets.
    pub global: Global,
    /// Targets in the order of the file.
    pub targets: Vec<PollTarget>,
    /// What the targets' expressions are over; the same text is asked once.
    pub queries: Vec<Query>,
    /// The devices that queries name by their index.
    pub devices: Vec<Device>,
    /// What `ConversionCode` defines.
    pub conversions: Conversions,
    /// Every file that was read, the given one first.
    pub files: Vec<PathBuf>,
}

/// What a configuration takes from the environment of the program.
#[derive(Clone, Debug, Default)]
pub struct LoadEnvironment {
    /// `RRDCACHED_ADDRESS`, which holds unless the file has `RRDCached:`.
    pub rrdcached_address: Option<String>,
}

/// A configuration and what was found while reading it.
#[derive(Clone, Debug)]
pub struct Loading {
    /// The configuration; `None` if it is refused.
    pub config: Option<Config>,
    /// Errors, for which it is refused, and warnings, in the order in which they were found.
    pub problems: Vec<ConfigProblem>,
    /// Every file that was read, also if it is refused.
    pub files: Vec<PathBuf>,
}

impl Config {
    /// Reads a file (`-` is the standard input) and all that it includes.
    ///
    /// Every problem is found, not only the first.  Reads the files that keywords name
    /// (`ConversionCode`, `LoadMIBs`), looks whether folders and programs exist, and asks the
    /// resolver for the servers of mail and Graphite.
    pub fn load(path: &Path, environment: &LoadEnvironment) -> Loading {
        let mut problems = Problems::default();
        let text = text::Text::read(path, &mut problems);
        let mut check = |finished: &assign::Finished<'_>, problems: &mut Problems| {
            let refusal = rules::refusal(finished.key, finished.bracket, &finished.value.text);
            if let Some(refusal) = refusal {
                problems.error(Some(&finished.value.at), refusal);
            } else if let Some(doubt) =
                rules::doubt(finished.key, finished.bracket, &finished.value.text)
            {
                problems.warning(Some(&finished.value.at), doubt);
            }
        };
        let raw = assign::assign(text.lines(), &mut problems, &mut check);
        let global = global::build(&raw, environment, &mut problems);
        let names = object_names(&global, &raw, &mut problems);
        let conversions = conversions(&raw, &mut problems);
        let mut config = build::build(&raw, global, &names, conversions, &mut problems);
        drop(raw);
        config.files.clone_from(&text.files);
        let config = (!problems.has_errors()).then_some(config);
        Loading { config, problems: problems.list, files: text.files }
    }
}

/// Bytes of a MIB file or of conversion code.
const SMALL_FILE_MAX: u64 = 16 << 20;

fn read_small(path: &str) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(SMALL_FILE_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn object_names(
    global: &Global,
    raw: &assign::RawConfig<'_>,
    problems: &mut Problems,
) -> ObjectNames {
    let mut names = ObjectNames::default();
    let at = raw.globals.get("loadmibs").map(|value| &value.at);
    for file in &global.load_mibs {
        match read_small(file) {
            Ok(mib) => names.load(&mib),
            Err(error) => problems.warning(at, format!("loadmibs: cannot read {file}: {error}")),
        }
    }
    names
}

fn conversions(raw: &assign::RawConfig<'_>, problems: &mut Problems) -> Conversions {
    let Some(value) = raw.globals.get("conversioncode") else { return Conversions::default() };
    // The rules have said it if the file cannot be read.
    let Ok(code) = read_small(&value.text) else { return Conversions::default() };
    Conversions::parse(&code).unwrap_or_else(|faults| {
        for (line, fault) in faults {
            let file = std::sync::Arc::new(PathBuf::from(&*value.text));
            problems.error(Some(&ConfigLine { file, line }), fault);
        }
        Conversions::default()
    })
}

/// Global settings.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Global {
    /// The folder of `.log` and `.rrd` files, with a slash at its end.
    pub log_dir: String,
    /// The folder of pages, with a slash at its end.
    pub html_dir: String,
    /// The folder of pictures, with a slash at its end.
    pub image_dir: String,
    /// The path from pages to pictures, for links: empty, or with a slash at its end.
    pub image_link: String,
    /// Where pages find icons, as written.
    pub icon_dir: Option<String>,
    /// Seconds after which a browser reloads a page.
    pub refresh_s: Option<i64>,
    /// The time between two rounds, in seconds.
    pub interval_s: u32,
    /// Whether pages get `.meta` files with their expiry.
    pub writes_expires: bool,
    /// Whether uptime and name are not asked for.
    pub is_without_mib2: bool,
    /// Whether each object is asked for by a request of its own.
    pub is_single_request: bool,
    /// The language of pages, as written.
    pub language: Option<String>,
    /// MIB files to load.
    pub load_mibs: Vec<String>,
    /// Where readings are kept.
    pub log_format: LogFormat,
    /// A folder that is put before `PATH`.
    pub path_add: Option<String>,
    /// A folder of libraries for MRTG; whit needs none.
    pub lib_add: Option<String>,
    /// The address of a caching daemon.
    pub rrdcached: Option<String>,
    /// Whether rounds go on until the program is stopped.
    pub runs_as_daemon: bool,
    /// Whether a daemon stays in the foreground.
    pub is_attached: bool,
    /// Seconds after which a target's file is too old to be written.
    pub max_age_s: Option<u64>,
    /// Name and port of a Graphite server.
    pub send_to_graphite: Option<(String, u16)>,
    /// The folder that remembers broken thresholds.
    pub threshold_dir: Option<PathBuf>,
    /// Hysteresis of thresholds, a fraction of the bound.
    pub threshold_hysteresis: Option<f64>,
    /// Hysteresis of Holt-Winters thresholds.
    pub hw_threshold_hysteresis: Option<f64>,
    /// The mail server.
    pub threshold_mail_server: Option<String>,
    /// The sender of mails.
    pub threshold_mail_sender: Option<String>,
    /// How many processes MRTG polls with; whit needs none.
    pub forks: Option<u32>,
    /// Whether IPv6 may be used.
    pub has_ipv6: bool,
    /// Whether version 3 may be used.
    pub has_snmpv3: bool,
    /// SNMP options of targets that have none of their own.
    pub snmp_options: SnmpOptions,
}

impl Default for Global {
    fn default() -> Self {
        Global {
            log_dir: String::new(),
            html_dir: String::new(),
            image_dir: String::new(),
            image_link: String::new(),
            icon_dir: None,
            refresh_s: None,
            interval_s: 300,
            writes_expires: false,
            is_without_mib2: false,
            is_single_request: false,
            language: None,
            load_mibs: Vec::new(),
            log_format: LogFormat::Rateup,
            path_add: None,
            lib_add: None,
            rrdcached: None,
            runs_as_daemon: false,
            is_attached: false,
            max_age_s: None,
            send_to_graphite: None,
            threshold_dir: None,
            threshold_hysteresis: None,
            hw_threshold_hysteresis: None,
            threshold_mail_server: None,
            threshold_mail_sender: None,
            forks: None,
            has_ipv6: false,
            has_snmpv3: false,
            snmp_options: SnmpOptions::default(),
        }
    }
}
