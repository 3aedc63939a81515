//! How a program logs, as a plain struct; and ACS's names for it.

use std::path::PathBuf;

use logring::abi::logger::NAME_BYTES_MAX;
use logring::folder::{FolderRule, RefusedFolder};
use logring::writer::{FullPolicy, RingSettings};
use logring::{LEVEL_OFF, LogLevel};

/// Levels of a named logger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggerLevels {
    /// The name of the logger.
    pub name: String,
    /// Level for the central store, a number of ACS; `None`: that of every new logger.
    pub central: Option<u8>,
    /// Level for local outputs; `None`: that of every new logger.
    pub local: Option<u8>,
}

/// How a program logs.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// The rings: where, how large, and what happens without room.
    pub rings: RingSettings,
    /// Default folders that were not safe: the start names them on standard error.
    pub refused_folders: Vec<RefusedFolder>,
    /// Levels of loggers that are named at the start.
    pub loggers: Vec<LoggerLevels>,
}

/// A name or value that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value}: {why}")]
pub struct ConfigError {
    /// The attribute or variable.
    pub name: String,
    /// The value of the setting.
    pub value: String,
    /// What is wrong.
    pub why: &'static str,
}

/// ACS's environment variables.
const ACS_VARIABLES: [&str; 6] = [
    "ACS_LOG_STDOUT",
    "ACS_LOG_CENTRAL",
    "ACS_LOG_FILE",
    "ACS_LOG_SYSLOG",
    "ACS_LOG_BIN",
    "LOG_SERVICE_USE_EXTENSIONS",
];

/// What would do nothing here, and what does it instead: `clients/c/src/whit_log.c` says the same.
const REFUSED: [(&str, &str); 7] = [
    (
        "flushPeriodSeconds",
        "records are handed on within a second, and no program can delay that: leave it out",
    ),
    (
        "maxLogQueueSize",
        "rings are measured in bytes: set those, and --quota of whit log proxy for what its disk keeps",
    ),
    (
        "centralizedLogger",
        "the proxy of the host knows the central store: give its address to whit log proxy --central",
    ),
    (
        "ACS_LOG_FILE",
        "nothing needs it while the central store is away: for a file, give -o acs:FILE to whit log proxy",
    ),
    ("ACS_LOG_SYSLOG", "programs send nothing: give -o syslog:HOST:PORT to whit log proxy"),
    ("ACS_LOG_BIN", "records are always binary: leave it out"),
    ("LOG_SERVICE_USE_EXTENSIONS", "no CORBA carries records: leave it out"),
];

impl LogConfig {
    /// Defaults, with ACS's numbers.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, host_name: &str, process_name: &str) -> Self {
        LogConfig {
            rings: RingSettings::new(directory.into(), host_name, process_name),
            refused_folders: Vec::new(),
            loggers: Vec::new(),
        }
    }

    /// Defaults, in the folder where `whit log` looks for programs of this user: that of
    /// `$WHIT_LOG_DIRECTORY`, or the first that can be used of those that
    /// [`logring::folder`] names.
    #[must_use]
    pub fn in_default_folder(host_name: &str, process_name: &str) -> Self {
        let (folder, refused_folders) = FolderRule::of_program().choose();
        LogConfig { refused_folders, ..LogConfig::new(folder, host_name, process_name) }
    }

    /// Takes an attribute of ACS's `LoggingConfig`, or an environment variable of ACS, by its name.
    /// The page `docs/log.md` has all of them: what each becomes here, and which are refused.
    ///
    /// Levels are names or numbers of ACS, or `OFF` (99); `NAME:minLogLevel` and
    /// `NAME:minLogLevelLocal` are the levels of the logger NAME.  The caller applies them in ACS's
    /// order: the configuration database, then the environment ([`LogConfig::set_acs_environment`]).
    ///
    /// # Errors
    /// For an unknown name, a value that makes no sense, and a setting that would do nothing here: the
    /// error says what does it instead.
    pub fn set_acs(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let error = |why| ConfigError { name: name.to_owned(), value: value.to_owned(), why };
        let level = || parse_level(value).ok_or_else(|| error("not a level of ACS"));
        let number = || match value.bytes().all(|byte| byte.is_ascii_digit()) {
            true => value.parse::<u32>().map_err(|_| error("not a number")),
            false => Err(error("not a number")),
        };
        if let Some((logger, attribute)) = name.rsplit_once(':') {
            if !matches!(attribute, "minLogLevel" | "minLogLevelLocal") {
                return Err(error("a logger has minLogLevel and minLogLevelLocal"));
            }
            if logger.len() > NAME_BYTES_MAX {
                return Err(error("a logger's name has 144 bytes at most"));
            }
            let level = Some(level()?);
            let at = self.loggers.iter().position(|one| one.name == logger);
            let at = at.unwrap_or_else(|| {
                let name = logger.to_owned();
                self.loggers.push(LoggerLevels { name, central: None, local: None });
                self.loggers.len() - 1
            });
            match attribute {
                "minLogLevel" => self.loggers[at].central = level,
                _ => self.loggers[at].local = level,
            }
            return Ok(());
        }
        match name {
            "minLogLevel" | "ACS_LOG_CENTRAL" => self.rings.level_central = level()?,
            "minLogLevelLocal" | "ACS_LOG_STDOUT" => self.rings.level_local = level()?,
            // Without ACS's cache each record is a packet.
            "dispatchPacketSize" => self.rings.packet_records = number()?.max(1),
            "immediateDispatchLevel" => self.rings.wake_level = level()?,
            "maxLogsPerSecond" => {
                let digits = value.strip_prefix('-').unwrap_or(value);
                let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                let most = value.parse::<i32>().ok().filter(|_| is_number);
                let most = most.ok_or_else(|| error("not a number"))?;
                self.rings.records_per_second_max = u32::try_from(most).ok();
            }
            _ => {
                let refused = REFUSED.iter().find(|(known, _)| *known == name);
                return Err(error(refused.map_or("unknown name", |(_, why)| why)));
            }
        }
        Ok(())
    }

    /// Takes ACS's variables of the environment, as far as they are set; gives those that are refused.
    #[must_use = "what is refused does nothing"]
    pub fn set_acs_environment(&mut self) -> Vec<ConfigError> {
        let mut refused = Vec::new();
        for name in ACS_VARIABLES {
            let Some(value) = std::env::var_os(name) else { continue };
            refused.extend(self.set_acs(name, &value.to_string_lossy()).err());
        }
        refused
    }

    /// Sets what all levels do without room in the ring.
    pub fn set_policy(&mut self, policy: FullPolicy) {
        self.rings.policies = [policy; 16];
    }
}

fn parse_level(text: &str) -> Option<u8> {
    if text.eq_ignore_ascii_case("OFF") || text == "99" {
        return Some(LEVEL_OFF);
    }
    // ACS takes 0 for "everything" and the undefined 7 in thresholds.
    match text {
        "0" => Some(0),
        "7" => Some(7),
        _ if text.starts_with('+') => None,
        _ => LogLevel::parse(text).map(LogLevel::number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_acs_are_taken() {
        let mut config = LogConfig::new("/x", "h", "p");
        for (name, value) in [
            ("minLogLevel", "4"),
            ("minLogLevelLocal", "WARNING"),
            ("dispatchPacketSize", "50"),
            ("immediateDispatchLevel", "INFO"),
            ("maxLogsPerSecond", "-1"),
            ("alma/acs:minLogLevel", "OFF"),
        ] {
            config.set_acs(name, value).unwrap();
        }
        assert_eq!((config.rings.level_central, config.rings.level_local), (4, 6));
        assert_eq!((config.rings.packet_records, config.rings.wake_level), (50, 4));
        assert_eq!((config.loggers[0].central, config.loggers[0].local), (Some(99), None));
        config.set_acs("dispatchPacketSize", "0").unwrap();
        assert_eq!(config.rings.packet_records, 1);
        let said = config.set_acs("minLogLevel", "loud").unwrap_err().to_string();
        assert_eq!(said, "minLogLevel=loud: not a level of ACS");
        assert_eq!(config.rings.records_per_second_max, None);
        config.set_acs("maxLogsPerSecond", "5").unwrap();
        assert_eq!(config.rings.records_per_second_max, Some(5));
        assert!(config.set_acs("maxLogsPerSecond", "-x").is_err());
        assert!(config.set_acs("maxLogsPerSecond", "5.5").is_err());
        assert!(config.set_acs("minLogLevl", "5").is_err());
        let before = config.loggers.len();
        assert!(config.set_acs("other:maxLogLevel", "5").is_err());
        assert!(config.set_acs(&format!("{}:minLogLevel", "x".repeat(145)), "5").is_err());
        assert_eq!(config.loggers.len(), before, "what is refused leaves nothing behind");
    }
}
