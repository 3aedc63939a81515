//! `/etc/collectl.conf`: lines `Keyword = value` and comments with `#`.
//!
//! What a keyword sets is a switch of `whit record`, or the default of one, so a configuration becomes
//! switches before those of the command line.  Keywords of programs that collectl starts, of Perl and of
//! its own checks have no counterpart and change nothing ([`IDLE`]); those that would change what is
//! recorded and cannot be followed are refused by name, and so is what is no keyword of collectl.
//!
//! Read once, at the start of a daemon.

use text::words::quoted_words;

/// The keywords that set a switch, and which.
const SWITCHES: &[(&str, &str)] = &[("Passwd", "--passwd")];

/// Keywords that change nothing: whit starts none of these programs, needs no library, asks the terminal
/// for its height, counts its own errors, and has no rates of counters that were reset.
const IDLE: &[&str] = &[
    "Grep",
    "Egrep",
    "Ps",
    "Rpm",
    "Lspci",
    "Lctl",
    "PQuery",
    "PCounter",
    "VStat",
    "OfedInfo",
    "Resize",
    "Ipmitool",
    "IpmiCache",
    "IpmiTypes",
    "TermHeight",
    "MaxZlibErrors",
    "TimeHiResCheck",
    "DefNetSpeed",
    "DiskMaxValue",
    "InterConnectInt",
    "LustreConfigInt",
    "LustreSvcLunMax",
    "LustreMaxBlkSize",
    "LimLusKBS",
    "LimLusReints",
];

/// Keywords that cannot be followed, and what to say instead.
const REFUSED: &[(&str, &str)] = &[
    ("Libraries", "collectl's Perl modules cannot be loaded: remove the line"),
    ("ReqDir", "collectl's Perl modules cannot be loaded: remove the line"),
    (
        "DiskFilter",
        "its expression is one over lines of /proc/diskstats: give names with --rawdskfilt",
    ),
];

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CollectlConfigurationError {
    /// A line without a keyword.
    #[error("line {line}: give 'Keyword = value'")]
    Line {
        /// The number of the line, from 1.
        line: usize,
    },
    /// A keyword that cannot be followed.
    #[error("line {line}: {keyword}: {why}")]
    Refused {
        /// The number of the line, from 1.
        line: usize,
        /// The keyword.
        keyword: &'static str,
        /// What to do.
        why: &'static str,
    },
    /// A word that is none of collectl's.
    #[error("line {line}: '{keyword}' is no keyword of collectl")]
    Unknown {
        /// The number of the line, from 1.
        line: usize,
        /// The word.
        keyword: String,
    },
}

/// What a configuration says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CollectlConfiguration {
    /// Switches that stand before those of the command line.
    pub switches: Vec<String>,
    /// `SubsysCore`: the letters that `-s +…` and `-s -…` change.
    pub core: Option<String>,
    /// `Interval`, `Interval2` and `Interval3`, in seconds.
    intervals: [Option<String>; 3],
    /// `Port` and `Timeout`.
    socket: [Option<String>; 2],
    /// `LimSVC`, `LimIOS` and `LimBool`.
    limits: [Option<String>; 3],
}

impl CollectlConfiguration {
    /// Reads a configuration.
    ///
    /// # Errors
    /// The first line that cannot be followed.
    pub fn parse(text: &str) -> Result<Self, CollectlConfigurationError> {
        let mut read = CollectlConfiguration::default();
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        for (line, text) in lines.filter(|(_, text)| !is_comment(text)) {
            let (keyword, value) =
                text.split_once('=').ok_or(CollectlConfigurationError::Line { line })?;
            read.set(line, keyword.trim(), value.trim())?;
        }
        let [time, operations, both] = &read.limits;
        let (time, operations) = (time.as_deref(), operations.as_deref());
        let word = both.as_deref().map(|both| if both == "0" { "OR" } else { "AND" });
        let parts = [time.map(|ms| format!("SVC:{ms}")), operations.map(|n| format!("IOS:{n}"))];
        let parts = parts.into_iter().flatten().chain(word.map(str::to_owned));
        let limits = parts.collect::<Vec<_>>().join("-");
        if !limits.is_empty() {
            read.switches.splice(0..0, ["--limits".to_owned(), limits]);
        }
        Ok(read)
    }

    fn set(
        &mut self,
        line: usize,
        keyword: &str,
        value: &str,
    ) -> Result<(), CollectlConfigurationError> {
        let place = match keyword {
            "DaemonCommands" => {
                self.switches.extend(quoted_words(value, char::is_whitespace));
                return Ok(());
            }
            "SubsysCore" => &mut self.core,
            "Interval" => &mut self.intervals[0],
            "Interval2" => &mut self.intervals[1],
            "Interval3" => &mut self.intervals[2],
            "Port" => &mut self.socket[0],
            "Timeout" => &mut self.socket[1],
            "LimSVC" => &mut self.limits[0],
            "LimIOS" => &mut self.limits[1],
            "LimBool" => &mut self.limits[2],
            "ProcReadTest" if value == "no" => {
                self.switches.insert(0, "--no-check".to_owned());
                return Ok(());
            }
            "ProcReadTest" => return Ok(()),
            _ => return self.set_other(line, keyword, value),
        };
        // What stands behind the value is a comment in collectl's own file.
        *place = value.split_whitespace().next().map(str::to_owned);
        // Its default has Lustre, which whit has not.
        self.core = self.core.take().map(|core| core.replace(['l', 'L'], ""));
        let core = self.core.as_deref().unwrap_or_default();
        let is_known = |letter| source::ALL.iter().any(|entry| entry.letters.contains(letter));
        if !core.chars().all(is_known) {
            let (keyword, why) = ("SubsysCore", "a letter stands for no subsystem");
            return Err(CollectlConfigurationError::Refused { line, keyword, why });
        }
        Ok(())
    }

    fn set_other(
        &mut self,
        line: usize,
        keyword: &str,
        value: &str,
    ) -> Result<(), CollectlConfigurationError> {
        if let Some((_, switch)) = SWITCHES.iter().find(|(known, _)| *known == keyword) {
            self.switches.splice(0..0, [(*switch).to_owned(), value.to_owned()]);
            return Ok(());
        }
        if let Some(&(keyword, why)) = REFUSED.iter().find(|(known, _)| *known == keyword) {
            return Err(CollectlConfigurationError::Refused { line, keyword, why });
        }
        match IDLE.contains(&keyword) {
            true => Ok(()),
            false => Err(CollectlConfigurationError::Unknown { line, keyword: keyword.to_owned() }),
        }
    }

    /// The value of `-i`, from the one that is given: parts that it lacks are the configuration's.
    #[must_use]
    pub fn interval(&self, given: Option<&str>) -> Option<String> {
        filled(given, 0, &self.intervals, ["10", "60", "120"])
    }

    /// The value of `-A`, from the one that is given: `ADDRESS:PORT:TIMEOUT`, or `server:PORT`.
    #[must_use]
    pub fn address(&self, given: &str) -> String {
        let parts = if given.starts_with("server") { 1 } else { 2 };
        let filled = filled(Some(given), 1, &self.socket[..parts], ["2655", "10"]);
        filled.unwrap_or_else(|| given.to_owned())
    }
}

/// A value of several parts with colons between, with those of a configuration in place of missing ones;
/// the first `own` parts are never the configuration's.
fn filled<const N: usize>(
    given: Option<&str>,
    own: usize,
    configured: &[Option<String>],
    usual: [&str; N],
) -> Option<String> {
    let mut parts: Vec<&str> = given.map_or_else(Vec::new, |given| given.split(':').collect());
    for (at, (configured_part, usual)) in configured.iter().zip(usual).enumerate() {
        let has_more = configured[at..].iter().any(Option::is_some);
        let part = configured_part.as_deref().unwrap_or(usual);
        match parts.get_mut(own + at) {
            Some(there) if there.is_empty() && configured_part.is_some() => *there = part,
            None if has_more => parts.push(part),
            _ => {}
        }
    }
    (!parts.is_empty()).then(|| parts.join(":"))
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> CollectlConfiguration {
        CollectlConfiguration::parse(text).unwrap()
    }

    #[test]
    fn daemon_commands_are_split_as_a_shell_would() {
        let text = "# DaemonCommands = no\nDaemonCommands = -f /v -r00:00,7 --comment \"a b\" ''\n";
        let wanted = ["-f", "/v", "-r00:00,7", "--comment", "a b", ""];
        assert_eq!(of(text).switches, wanted);
        assert!(of("# DaemonCommands = -m\n\n").switches.is_empty());
    }

    #[test]
    fn keywords_are_switches_before_the_others() {
        let text = "DaemonCommands = -f /v\nPasswd = /x\nLimSVC = 20 # ms\nLimBool = 1\n\
                    ProcReadTest = no\nResize=/usr/bin/resize\n";
        let wanted = ["--limits", "SVC:20-AND", "--no-check", "--passwd", "/x", "-f", "/v"];
        assert_eq!(of(text).switches, wanted);
        assert_eq!(of("LimIOS=5\nLimBool=0").switches, ["--limits", "IOS:5-OR"]);
        assert_eq!(of("SubsysCore = cdm").core.as_deref(), Some("cdm"));
    }

    #[test]
    fn intervals_and_sockets_are_filled_up() {
        let all = of("Interval = 5\nInterval2 = 30");
        assert_eq!(all.interval(None).as_deref(), Some("5:30"));
        assert_eq!(all.interval(Some("1")).as_deref(), Some("1:30"));
        assert_eq!(all.interval(Some(":9")).as_deref(), Some("5:9"));
        assert_eq!(all.interval(Some("1:2:3")).as_deref(), Some("1:2:3"));
        let third = of("Interval3 = 600");
        assert_eq!(third.interval(Some("1")).as_deref(), Some("1:60:600"));
        assert_eq!(third.interval(None).as_deref(), Some("10:60:600"));
        let none = of("");
        assert_eq!((none.interval(None), none.interval(Some("1:2"))), (None, Some("1:2".into())));
        assert_eq!(none.address("host"), "host");
        let socket = of("Port = 3000\nTimeout = 4");
        assert_eq!(socket.address("host"), "host:3000:4");
        assert_eq!(socket.address("host:1"), "host:1:4");
        assert_eq!(socket.address("server"), "server:3000");
        assert_eq!(of("Timeout = 4").address("host"), "host:2655:4");
    }

    #[test]
    fn what_cannot_be_followed_is_refused_by_name() {
        let error = |text| CollectlConfiguration::parse(text).unwrap_err().to_string();
        assert_eq!(error("\nDiskFilter = /sd/").split(':').nth(1), Some(" DiskFilter"));
        assert!(error("Libraries = /x").contains("Perl modules cannot be loaded"));
        assert_eq!(error("Intervall = 3"), "line 1: 'Intervall' is no keyword of collectl");
        assert_eq!(error("Port = 1\nxyz"), "line 2: give 'Keyword = value'");
    }

    #[test]
    fn every_keyword_of_the_installed_file_is_known() {
        let Ok(text) = std::fs::read_to_string("/etc/collectl.conf") else {
            testkit::skip("the keywords of collectl.conf", "collectl is not installed");
            return;
        };
        let mut count = 0;
        for line in text.lines() {
            let line = line.trim_start_matches('#');
            let Some((keyword, _)) = line.split_once('=') else { continue };
            let keyword = keyword.trim();
            // Prose of the file has blanks before its equals sign.
            if keyword.is_empty() || !keyword.chars().all(|letter| letter.is_ascii_alphanumeric()) {
                continue;
            }
            count += 1;
            let read = CollectlConfiguration::parse(&format!("{keyword} = 1"));
            assert!(!matches!(read, Err(CollectlConfigurationError::Unknown { .. })), "{keyword}");
        }
        assert!(count >= 30, "{count} keywords");
    }
}
