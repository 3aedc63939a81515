//! The names of a recorder's files, built like collectl's.
//!
//! A path `DIR` gives `DIR/host-yyyymmdd-hhmmss.whit`, `DIR/prefix` gives
//! `DIR/prefix-host-yyyymmdd-hhmmss.whit`; plot files have only the day, unless each run has its
//! own files; messages go to `DIR/host-whit-yyyymm.log`.  Times are local.

use std::path::{Path, PathBuf};

use jiff::Zoned;

/// The extension of a recording.
const EXTENSION: &str = "whit";

/// The directory for files, and how their names begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNames {
    /// The directory.
    pub directory: PathBuf,
    /// Everything of a name before the date: `host` or `prefix-host`.
    pub stem: String,
    host: String,
}

impl FileNames {
    /// The names for `path` (a directory, or a directory and a prefix) on the machine `host`.
    #[must_use]
    pub fn new(path: &Path, host: &str) -> Self {
        // The short name, without characters that a file name cannot have.
        let host = host.split('.').next().unwrap_or(host).replace('/', "_");
        let text = path.as_os_str().as_encoded_bytes();
        if text.ends_with(b"/") || path.is_dir() {
            return FileNames { directory: path.to_owned(), stem: host.clone(), host };
        }
        let prefix = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let stem = prefix.map_or_else(|| host.clone(), |prefix| format!("{prefix}-{host}"));
        FileNames { directory, stem, host }
    }

    /// Sets the prefix of the recordings from which the files are made.
    #[must_use]
    pub fn with_prefix(mut self, prefix: Option<String>) -> Self {
        if let Some(prefix) = prefix {
            let at = self.stem.len() - self.host.len();
            self.stem.insert_str(at, &format!("{prefix}-"));
        }
        self
    }

    /// The recording that begins at `at`.
    #[must_use]
    pub fn recording(&self, at: &Zoned) -> PathBuf {
        let name = format!("{}-{}.{EXTENSION}", self.stem, at.strftime("%Y%m%d-%H%M%S"));
        self.directory.join(name)
    }

    /// The plot file with `extension` for the day of `at`; with `unique` also with the time, so
    /// that runs do not share it.
    #[must_use]
    pub fn plot(&self, at: &Zoned, extension: &str, unique: bool) -> PathBuf {
        let date = at.strftime(if unique { "%Y%m%d-%H%M%S" } else { "%Y%m%d" });
        self.directory.join(format!("{}-{date}.{extension}", self.stem))
    }

    /// The message log of the month of `at`.
    #[must_use]
    pub fn log(&self, at: &Zoned) -> PathBuf {
        self.directory.join(format!("{}-whit-{}.log", self.host, at.strftime("%Y%m")))
    }

    /// Whether this is the name of one of our recordings.
    pub(crate) fn is_recording(&self, name: &str) -> bool {
        self.day_of(name, &[]).is_some() && Path::new(name).extension() == Some(EXTENSION.as_ref())
    }

    /// The day in the name of one of our recordings or plot files, `yyyymmdd`; `None` for any
    /// other file.
    pub(crate) fn day_of<'a>(&self, name: &'a str, plots: &[String]) -> Option<&'a str> {
        let rest = name.strip_prefix(self.stem.as_str())?.strip_prefix('-')?;
        let (day, rest) = rest.split_at_checked(8)?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let rest = match rest.strip_prefix('-') {
            Some(timed) => timed.split_at_checked(6).filter(|(time, _)| digits(time))?.1,
            None => rest,
        };
        let extension = rest.strip_prefix('.')?;
        let extension = extension.strip_suffix(".gz").unwrap_or(extension);
        let ours = extension == EXTENSION || plots.iter().any(|plot| plot == extension);
        (digits(day) && ours).then_some(day)
    }

    /// The month in the name of one of our message logs, `yyyymm`.
    pub(crate) fn month_of<'a>(&self, name: &'a str) -> Option<&'a str> {
        let rest = name.strip_prefix(self.host.as_str())?.strip_prefix("-whit-")?;
        let month = rest.strip_suffix(".log")?;
        (month.len() == 6 && month.bytes().all(|byte| byte.is_ascii_digit())).then_some(month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Zoned {
        "2026-11-21T04:35:02[UTC]".parse().unwrap()
    }

    #[test]
    fn names_as_collectl_makes_them() {
        let directory = tempfile::tempdir().unwrap();
        let names = FileNames::new(directory.path(), "node1.example.org");
        let name = names.recording(&at());
        assert_eq!(name, directory.path().join("node1-20261121-043502.whit"));
        let names = FileNames::new(&directory.path().join("run7"), "node1");
        let name = names.plot(&at(), "tab", false);
        assert_eq!(name, directory.path().join("run7-node1-20261121.tab"));
        let named = |path: &str| FileNames::new(Path::new(path), "h");
        assert_eq!(named("no/such/").with_prefix(Some("web".to_owned())).stem, "web-h");
        assert_eq!(named("no/x").with_prefix(Some("web".to_owned())).stem, "x-web-h");
        assert_eq!(named("no/x").with_prefix(None).stem, "x-h");
        assert_eq!(names.log(&at()), directory.path().join("node1-whit-202611.log"));
        assert_eq!(FileNames::new(Path::new("x"), "h").directory, Path::new("."));
        assert_eq!(FileNames::new(Path::new("no/such/"), "h").stem, "h");
        assert_eq!(FileNames::new(Path::new("/"), "a/b").stem, "a_b");
    }

    #[test]
    fn only_our_own_files_have_a_day() {
        let names = FileNames::new(Path::new("d/p"), "h");
        let day = |name| names.day_of(name, &["tab".to_owned(), "cpu".to_owned()]);
        assert_eq!(day("p-h-20261121-043502.whit"), Some("20261121"));
        assert_eq!(day("p-h-20261121.tab.gz"), Some("20261121"));
        assert_eq!(day("p-h-20261121-043502.cpu"), Some("20261121"));
        for other in [
            "h-20261121-043502.whit",
            "p-h-20261121-043502.raw.gz",
            "p-h-2026112x.tab",
            "p-h-20261121-0435.whit",
            "p-h-20261121",
            "p-h2-20261121-043502.whit",
            "p-h-2026112é.tab",
        ] {
            assert_eq!(day(other), None, "{other}");
        }
        assert_eq!(names.month_of("h-whit-202611.log"), Some("202611"));
        assert_eq!(names.month_of("h-collectl-202611.log"), None);
    }
}
