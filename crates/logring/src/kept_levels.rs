//! Levels that last: the file `levels` in a folder of rings.  The proxy writes it as the central server
//! tells it to, and a program looks into it whenever it makes a logger: so a level that was set lasts
//! beyond the program, the proxy and the server.
//!
//! A line for each order, at most [`ORDERS_MAX`], the later one wins; fields end with a tab:
//! patterns of logger, host and process (`*` stands for any text, nothing fits all), then the levels for
//! the central store and for local outputs, numbers of ACS or `-`.  The C client reads the same.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use text::wildcard::Wildcards;

use crate::level::LEVEL_OFF;

/// The name of the file.
const FILE: &str = "levels";
/// Most orders; the oldest make way.
const ORDERS_MAX: usize = 256;
/// Most bytes that are read.
const BYTES_MAX: u64 = 256 << 10;

/// Which loggers get which levels when they are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptLevel {
    /// Pattern of names of loggers; empty: all.
    pub logger: String,
    /// Pattern of names of hosts.
    pub host: String,
    /// Pattern of names of processes.
    pub process: String,
    /// Level for the central store; `None`: as it is.
    pub central: Option<u8>,
    /// Level for local outputs; `None`: as it is.
    pub local: Option<u8>,
}

/// The orders of a file, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptLevels {
    orders: Vec<KeptLevel>,
}

impl KeptLevel {
    /// Whether it can be in the file: its patterns have no control characters, and no more than 255 bytes
    /// each, and its levels are some.
    #[must_use]
    pub fn can_last(&self) -> bool {
        let patterns = [&self.logger, &self.host, &self.process];
        let is_level = |level: u8| level < 12 || level == LEVEL_OFF;
        patterns.iter().all(|one| one.len() <= 255 && !one.chars().any(char::is_control))
            && [self.central, self.local].into_iter().flatten().all(is_level)
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.logger, &self.host, &self.process) == (&other.logger, &other.host, &other.process)
    }

    fn fits(&self, host: &str, process: &str, logger: &str) -> bool {
        let pairs = [(&self.logger, logger), (&self.host, host), (&self.process, process)];
        pairs.into_iter().all(|(pattern, name)| {
            pattern.is_empty() || Wildcards::STARS.fit(pattern.as_bytes(), name.as_bytes())
        })
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut text = || fields.next().map(str::to_owned);
        let (logger, host, process) = (text()?, text()?, text()?);
        let mut level = || match fields.next()? {
            "-" => Some(None),
            number => number.parse().ok().map(Some),
        };
        let (central, local) = (level()?, level()?);
        let one = KeptLevel { logger, host, process, central, local };
        (fields.next().is_none() && one.can_last()).then_some(one)
    }
}

impl KeptLevels {
    /// Reads what a file has; lines that are none are passed over.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
        KeptLevels { orders: lines.filter_map(KeptLevel::parse).take(ORDERS_MAX).collect() }
    }

    /// The text of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for KeptLevel { logger, host, process, central, local } in &self.orders {
            let [central, local] =
                [central, local].map(|level| level.map_or("-".to_owned(), |one| one.to_string()));
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{logger}\t{host}\t{process}\t{central}\t{local}");
        }
        text
    }

    /// Reads the file of a folder.
    ///
    /// # Errors
    /// If it is not there, or cannot be read.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut text = Vec::new();
        // The folder may be another user's, who may put a pipe or a link there.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(folder.join(FILE))?;
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        file.take(BYTES_MAX).read_to_end(&mut text)?;
        Ok(Self::parse(&text))
    }

    /// Writes the file of a folder, which all may read that may look into the folder.
    ///
    /// # Errors
    /// If the folder is not there, or the file cannot be made.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let replacement = whole_file::Replacement::default().mode(0o644);
        replacement.write(&folder.join(FILE), self.to_text().as_bytes())
    }

    /// Sets the levels of an order, in the place of earlier ones of the same patterns.
    pub fn keep(&mut self, mut order: KeptLevel) {
        if let Some(at) = self.orders.iter().position(|one| one.is_of(&order)) {
            let before = self.orders.remove(at);
            order.central = order.central.or(before.central);
            order.local = order.local.or(before.local);
        }
        if self.orders.len() >= ORDERS_MAX {
            self.orders.remove(0);
        }
        self.orders.push(order);
    }

    /// Forgets the levels that an order of the same patterns has; which ones, its levels say.
    pub fn forget(&mut self, order: &KeptLevel) {
        for one in self.orders.iter_mut().filter(|one| one.is_of(order)) {
            one.central = one.central.filter(|_| order.central.is_none());
            one.local = one.local.filter(|_| order.local.is_none());
        }
        self.orders.retain(|one| one.central.is_some() || one.local.is_some());
    }

    /// The levels of a logger for the central store and for local outputs, as far as an order fits it.
    #[must_use]
    pub fn of(&self, host: &str, process: &str, logger: &str) -> (Option<u8>, Option<u8>) {
        let fitting = self.orders.iter().filter(|one| one.fits(host, process, logger));
        fitting.fold((None, None), |(central, local), one| {
            (one.central.or(central), one.local.or(local))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(logger: &str, central: Option<u8>, local: Option<u8>) -> KeptLevel {
        KeptLevel { logger: logger.to_owned(), central, local, ..KeptLevel::default() }
    }

    #[test]
    fn later_orders_win_and_the_text_leads_back() {
        let mut kept = KeptLevels::default();
        kept.keep(order("CONTROL/*", Some(3), None));
        kept.keep(order("*", None, Some(99)));
        kept.keep(KeptLevel { process: "other".to_owned(), ..order("*", Some(1), None) });
        kept.keep(order("CONTROL/*", None, Some(6)));
        assert_eq!(kept.of("h", "p", "CONTROL/PM01"), (Some(3), Some(6)));
        assert_eq!(kept.of("h", "p", "else"), (None, Some(99)));
        assert_eq!(kept.of("h", "other", "else"), (Some(1), Some(99)));
        assert_eq!(kept.to_text(), "*\t\t\t-\t99\n*\t\tother\t1\t-\nCONTROL/*\t\t\t3\t6\n");
        assert_eq!(KeptLevels::parse(kept.to_text().as_bytes()), kept);
        kept.forget(&order("CONTROL/*", Some(4), None));
        assert_eq!(kept.of("h", "p", "CONTROL/PM01"), (None, Some(6)));
        kept.forget(&order("CONTROL/*", None, Some(4)));
        assert_eq!(kept.to_text(), "*\t\t\t-\t99\n*\t\tother\t1\t-\n");
    }

    #[test]
    fn a_pipe_or_a_link_in_the_folder_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = KeptLevels::default();
        kept.keep(order("*", Some(3), None));
        kept.write(folder.path()).unwrap();
        assert_eq!(KeptLevels::read(folder.path()).unwrap(), kept);
        let path = folder.path().join(FILE);
        std::fs::rename(&path, folder.path().join("other")).unwrap();
        std::os::unix::fs::symlink("other", &path).unwrap();
        KeptLevels::read(folder.path()).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a path that ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        KeptLevels::read(folder.path()).unwrap_err();
        // What a proxy writes takes its place.
        kept.write(folder.path()).unwrap();
        assert_eq!(KeptLevels::read(folder.path()).unwrap(), kept);
    }

    #[test]
    fn what_is_no_order_is_passed_over_and_the_list_has_an_end() {
        for line in [
            "",
            "a",
            "a\t\t\t3",
            "a\t\t\t12\t-",
            "a\t\t\t3\t-\tx",
            "\x1b\t\t\t3\t-",
            "a\t\t\t-1\t-",
        ] {
            assert_eq!(KeptLevels::parse(line.as_bytes()), KeptLevels::default(), "{line:?}");
        }
        let mut kept = KeptLevels::default();
        for number in 0..300 {
            kept.keep(order(&number.to_string(), Some(4), None));
        }
        assert_eq!(kept.of("", "", "43"), (None, None));
        assert_eq!(kept.of("", "", "44"), (Some(4), None));
        assert_eq!(kept.of("", "", "299"), (Some(4), None));
        assert!(!order("a\nb", None, None).can_last() && !order("a", Some(50), None).can_last());
    }
}
