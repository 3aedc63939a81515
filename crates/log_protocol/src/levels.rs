//! Setting levels of loggers at run time: an order goes from the central server to every proxy,
//! which writes it into the files of processes; they follow at their next call.

use logring::{KeptLevel, ProcessFile};
use text::wildcard::Wildcards;

use crate::bytes::{ByteCursor, put_short};
use crate::identity::ProcessInfo;

/// Whether levels last beyond the processes that are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lasting {
    /// They are those of running processes.
    #[default]
    No,
    /// Loggers get them also when they are made.
    Keep,
    /// Levels that were kept for the same names are kept no longer.
    Forget,
}

impl Lasting {
    /// Whether one of both is wanted.
    #[must_use]
    pub fn of(keep: bool, forget: bool) -> Self {
        match (keep, forget) {
            (true, _) => Lasting::Keep,
            (_, true) => Lasting::Forget,
            _ => Lasting::No,
        }
    }
}

/// Which loggers get which levels.  Empty patterns fit everything; `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LevelOrder {
    /// Names of loggers.
    pub logger: String,
    /// Names of hosts.
    pub host: String,
    /// Names of processes, or a pid.
    pub process: String,
    /// Level for the central store; `None`: as it is.
    pub central: Option<u8>,
    /// Level for local outputs; `None`: as it is.
    pub local: Option<u8>,
    /// Whether it lasts.
    pub lasting: Lasting,
}

impl LevelOrder {
    /// The bytes of an order.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for text in [&self.logger, &self.host, &self.process] {
            put_short(&mut out, text.as_bytes());
        }
        for level in [self.central, self.local] {
            out.extend_from_slice(&[u8::from(level.is_some()), level.unwrap_or(0)]);
        }
        out.push(self.lasting as u8);
        out
    }

    /// Reads an order.
    #[must_use]
    pub fn decode(body: &[u8]) -> Option<Self> {
        let mut from = ByteCursor::new(body);
        let (logger, host, process) = (from.short_text()?, from.short_text()?, from.short_text()?);
        let mut level = || Some((from.u8()? != 0, from.u8()?));
        let (central, local) = (level()?, level()?);
        let central = central.0.then_some(central.1);
        let local = local.0.then_some(local.1);
        let lasting = match from.u8() {
            None | Some(0) => Lasting::No,
            Some(1) => Lasting::Keep,
            Some(2) => Lasting::Forget,
            Some(_) => return None,
        };
        Some(LevelOrder { logger, host, process, central, local, lasting })
    }

    /// Whether it changes what lasts.
    #[must_use]
    pub fn is_to_last(&self) -> bool {
        self.lasting != Lasting::No
    }

    /// What is kept of the order.
    #[must_use]
    pub fn to_kept(&self) -> KeptLevel {
        let LevelOrder { logger, host, process, central, local, .. } = self.clone();
        KeptLevel { logger, host, process, central, local }
    }

    /// Sets the levels of a process's loggers that it names; gives how many.
    pub fn apply(&self, info: &ProcessInfo, file: &mut ProcessFile) -> u32 {
        let is_process = matches(&self.process, &info.name)
            || self.process.parse::<u32>().is_ok_and(|pid| pid == info.pid);
        if !is_process || !matches(&self.host, &info.host) {
            return 0;
        }
        let mut count = 0;
        for logger in file.loggers().unwrap_or_default() {
            if !matches(&self.logger, &logger.name) {
                continue;
            }
            let central = self.central.unwrap_or(logger.level_central);
            let local = self.local.unwrap_or(logger.level_local);
            count += u32::from(file.set_levels(logger.index, central, local).is_ok());
        }
        count
    }
}

/// Whether a name fits a pattern, in which `*` stands for any text; an empty pattern fits all.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    pattern.is_empty() || fits(pattern, name.as_bytes())
}

/// Whether a text fits a pattern, in which `*` stands for any text.
#[must_use]
pub fn fits(pattern: &str, text: &[u8]) -> bool {
    // Nearly all patterns are names, and a search compares each record's.
    if memchr::memchr(b'*', pattern.as_bytes()).is_none() {
        return pattern.as_bytes() == text;
    }
    Wildcards::STARS.fit(pattern.as_bytes(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, fits) in [
            ("", "any", true),
            ("CONTROL/*", "CONTROL/PM01", true),
            ("CONTROL/*", "CONTROL", false),
            ("*PM*", "CONTROL/PM01", true),
            ("a*b*c", "a12b34c", true),
            ("a*b*c", "a12b34d", false),
            ("exact", "exactly", false),
            ("exact", "exact", true),
            ("ab*ab", "ab", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn an_order_comes_back() {
        let order = LevelOrder { logger: "a*".into(), central: Some(99), ..LevelOrder::default() };
        assert_eq!(LevelOrder::decode(&order.encode()), Some(order));
        assert_eq!(LevelOrder::decode(&[1]), None);
    }
}
