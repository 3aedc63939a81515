//! How a program logs, as a plain struct; and ACS's names for it.

use std::path::PathBuf;

use logring::folder::{FolderRule, RefusedFolder};
use logring::writer::{FullPolicy, RingSettings};
use logring::{LEVEL_OFF, LogLevel};

/// Levels of a named logger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggerLevels {
    /// The name of the logger.
    pub name: String,
    /// Level for the central store, a number of ACS.
    pub central: u8,
    /// Level for local outputs.
    pub local: u8,
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
    /// Records that a consumer hands on at once (ACS: `dispatchPacketSize`).
    pub packet_records: u32,
    /// From this level on a record is handed on without delay (ACS: `immediateDispatchLevel`).
    pub immediate_level: u8,
    /// Longest delay until records are handed on, in ms; 0: no limit.
    pub flush_period_ms: u64,
    /// Records that a consumer keeps while the central store is away (ACS: `maxLogQueueSize`); the
    /// spool on disk keeps more.
    pub queue_records: u32,
    /// Name of the central store (ACS: `centralizedLogger`).
    pub central_name: String,
    /// File for local output, if wanted (ACS: `ACS_LOG_FILE`).
    pub file: Option<PathBuf>,
    /// Syslog server, `[facility@]host[:port]`, if wanted (ACS: `ACS_LOG_SYSLOG`).
    pub syslog: Option<String>,
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

impl LogConfig {
    /// Defaults, with ACS's numbers.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, host_name: &str, process_name: &str) -> Self {
        LogConfig {
            rings: RingSettings::new(directory.into(), host_name, process_name),
            refused_folders: Vec::new(),
            loggers: Vec::new(),
            packet_records: 100,
            immediate_level: LogLevel::Alert.number(),
            flush_period_ms: 10_000,
            queue_records: 1000,
            central_name: "Log".to_owned(),
            file: None,
            syslog: None,
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

    /// Takes an attribute of ACS's `LoggingConfig`, or an environment variable of ACS, by its name:
    ///
    /// | name | what |
    /// |---|---|
    /// | `minLogLevel`, `ACS_LOG_CENTRAL` | level for the central store |
    /// | `minLogLevelLocal`, `ACS_LOG_STDOUT` | level for local outputs |
    /// | `dispatchPacketSize` | records that are handed on at once |
    /// | `immediateDispatchLevel` | from this level on without delay |
    /// | `flushPeriodSeconds` | longest delay |
    /// | `maxLogQueueSize` | records kept while the central store is away |
    /// | `maxLogsPerSecond` | records of the process in a second; negative: no limit.  What is suppressed is counted and said in the stream |
    /// | `centralizedLogger` | name of the central store |
    /// | `ACS_LOG_FILE` | file for local output |
    /// | `ACS_LOG_SYSLOG` | syslog server |
    /// | `ACS_LOG_BIN`, `LOG_SERVICE_USE_EXTENSIONS` | taken and without effect: records are always binary |
    /// | `NAME:minLogLevel`, `NAME:minLogLevelLocal` | levels of the logger NAME |
    ///
    /// Levels are names or numbers of ACS, or `OFF` (99).  The caller applies them in ACS's order:
    /// defaults, the configuration database, the environment.
    ///
    /// # Errors
    /// For an unknown name, and a value that makes no sense.
    pub fn set_acs(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let error = |why| ConfigError { name: name.to_owned(), value: value.to_owned(), why };
        let level = || parse_level(value).ok_or_else(|| error("not a level of ACS"));
        let number = || value.parse::<u32>().map_err(|_| error("not a number"));
        if let Some((logger, attribute)) = name.rsplit_once(':') {
            let level = level()?;
            let at = self.loggers.iter().position(|one| one.name == logger);
            let at = at.unwrap_or_else(|| {
                let (central, local) = (self.rings.level_central, self.rings.level_local);
                self.loggers.push(LoggerLevels { name: logger.to_owned(), central, local });
                self.loggers.len() - 1
            });
            match attribute {
                "minLogLevel" => self.loggers[at].central = level,
                "minLogLevelLocal" => self.loggers[at].local = level,
                _ => return Err(error("a logger has minLogLevel and minLogLevelLocal")),
            }
            return Ok(());
        }
        match name {
            "minLogLevel" | "ACS_LOG_CENTRAL" => self.rings.level_central = level()?,
            "minLogLevelLocal" | "ACS_LOG_STDOUT" => self.rings.level_local = level()?,
            "dispatchPacketSize" => self.packet_records = number()?,
            "immediateDispatchLevel" => self.immediate_level = level()?,
            "flushPeriodSeconds" => self.flush_period_ms = u64::from(number()?) * 1000,
            "maxLogQueueSize" => self.queue_records = number()?,
            "maxLogsPerSecond" if value.starts_with('-') => {
                value.parse::<i32>().map_err(|_| error("not a number"))?;
                self.rings.records_per_second_max = None;
            }
            "maxLogsPerSecond" => self.rings.records_per_second_max = Some(number()?),
            "centralizedLogger" => self.central_name = value.to_owned(),
            "ACS_LOG_FILE" => self.file = Some(PathBuf::from(value)),
            "ACS_LOG_SYSLOG" => self.syslog = Some(value.to_owned()),
            "ACS_LOG_BIN" | "LOG_SERVICE_USE_EXTENSIONS" => {}
            _ => return Err(error("unknown name")),
        }
        Ok(())
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
            ("immediateDispatchLevel", "8"),
            ("flushPeriodSeconds", "3"),
            ("maxLogQueueSize", "7"),
            ("maxLogsPerSecond", "-1"),
            ("centralizedLogger", "Log2"),
            ("ACS_LOG_FILE", "/tmp/x"),
            ("ACS_LOG_SYSLOG", "user@host:514"),
            ("ACS_LOG_BIN", "true"),
            ("alma/acs:minLogLevel", "OFF"),
        ] {
            config.set_acs(name, value).unwrap();
        }
        assert_eq!((config.rings.level_central, config.rings.level_local), (4, 6));
        assert_eq!(
            (config.packet_records, config.immediate_level, config.flush_period_ms),
            (50, 8, 3000)
        );
        assert_eq!((config.loggers[0].central, config.loggers[0].local), (99, 6));
        let said = config.set_acs("minLogLevel", "loud").unwrap_err().to_string();
        assert_eq!(said, "minLogLevel=loud: not a level of ACS");
        assert_eq!(config.rings.records_per_second_max, None);
        config.set_acs("maxLogsPerSecond", "5").unwrap();
        assert_eq!(config.rings.records_per_second_max, Some(5));
        assert!(config.set_acs("maxLogsPerSecond", "-x").is_err());
        assert!(config.set_acs("maxLogsPerSecond", "5.5").is_err());
        assert!(config.set_acs("minLogLevl", "5").is_err());
    }
}
