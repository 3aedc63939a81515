//! New files.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Result, refuse};
use crate::file::{Access, File};
use crate::header::{Archive, RrdHeader, StoredDataSource, Time};
use crate::image::{self, Image};
use crate::specification::{self, MappedSource, Version};

/// What a new file is made from.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Time of the last update, in seconds since 1970; without it, of the sources or the template,
    /// else ten seconds ago.
    pub start: Option<i64>,
    /// Seconds of a step; without it, the template's, else 300.
    pub step_seconds: Option<u64>,
    /// Whether an existing file stays.
    pub keeps_existing: bool,
    /// Files whose rows fill the new one.
    pub sources: Vec<PathBuf>,
    /// A file whose sources and archives come first.
    pub template: Option<PathBuf>,
}

/// Steps of a new file that says nothing else.
const STEP_SECONDS: u64 = 300;

/// Makes a file from definitions (`DS:…`, `RRA:…`).
///
/// # Errors
/// If RRDtool would fail too; the text is RRDtool's.
pub fn create(path: &Path, options: &Options, definitions: &[&str], now: i64) -> Result<()> {
    if options.keeps_existing && path.exists() {
        return Err(refuse!("creating '{}': File exists", path.display()));
    }
    let (header, mapped) = read(path, options, definitions, now)?;
    match options.sources.as_slice() {
        [] => image::write_empty(path, header),
        _ => filled(header, options, &mapped)?.write(path),
    }
}

/// Bytes of the file that [`create`] makes of these definitions when it is not filled from others.
///
/// # Errors
/// As [`create`].
pub fn size_bytes(path: &Path, options: &Options, definitions: &[&str], now: i64) -> Result<u64> {
    let (header, _) = read(path, options, definitions, now)?;
    image::empty_bytes(header)
}

/// A new file in memory.  The name decides at which rows seasons are smoothed.
///
/// # Errors
/// As [`create`].
pub fn image(path: &Path, options: &Options, definitions: &[&str], now: i64) -> Result<Image> {
    let (header, mapped) = read(path, options, definitions, now)?;
    filled(header, options, &mapped)
}

/// Where the values of a source that is defined here come from, by its name.
type Mapped = (String, Option<MappedSource>);

fn filled(header: RrdHeader, options: &Options, mapped: &[Mapped]) -> Result<Image> {
    let mut image = Image::empty(header)?;
    if !options.sources.is_empty() {
        let has_start = options.start.is_some();
        crate::prefill::prefill(&mut image, &options.sources, has_start, mapped)?;
    }
    Ok(image)
}

/// The sources and archives of a new file; of its state only the time.
fn read(
    path: &Path,
    options: &Options,
    definitions: &[&str],
    now: i64,
) -> Result<(RrdHeader, Vec<Mapped>)> {
    let mut new = Definitions::default();
    let mut last_update = Time::of_seconds(options.start.unwrap_or(now - 10));
    let mut step_seconds = options.step_seconds;
    if let Some(template) = &options.template {
        let opened = File::open(template, Access::Read);
        let opened =
            opened.map_err(|_| refuse!("Cannot open template RRD {}", template.display()))?;
        let header = opened.header();
        step_seconds = step_seconds.or(Some(header.step_seconds));
        new.sources.clone_from(&header.sources);
        new.archives.clone_from(&header.archives);
        if options.start.is_none() && options.sources.is_empty() && header.last_update.seconds > 0 {
            last_update = Time::of_seconds(header.last_update.seconds);
        }
    }
    let step_seconds = step_seconds.unwrap_or(STEP_SECONDS);
    new.read(path, definitions, step_seconds)?;
    let header = RrdHeader {
        version: new.version,
        step_seconds,
        sources: new.sources,
        archives: new.archives,
        last_update,
        primary: Vec::new(),
        consolidation: Vec::new(),
        current_row: Vec::new(),
    };
    Ok((header, new.mapped))
}

/// What the definitions say.
#[derive(Default)]
struct Definitions {
    sources: Vec<StoredDataSource>,
    archives: Vec<Archive>,
    /// Where the values of the sources that are defined here come from.
    mapped: Vec<Mapped>,
    version: Version,
}

impl Definitions {
    fn read(&mut self, path: &Path, definitions: &[&str], step_seconds: u64) -> Result<()> {
        self.version = 3;
        let hash = specification::name_hash(path.as_os_str().as_bytes());
        for definition in definitions {
            let version = if let Some(text) = definition.strip_prefix("DS:") {
                let (defined, version) = specification::source(text, &self.sources)?;
                self.mapped.push((defined.source.name.clone(), defined.mapped));
                self.sources.push(defined.source);
                version
            } else if let Some(text) = definition.strip_prefix("RRA:") {
                let (archive, version) = specification::archive(text, step_seconds, hash)?;
                self.archives.push(archive);
                specification::add_partners(&mut self.archives, hash)?;
                version
            } else {
                return Err(refuse!("can't parse argument '{definition}'"));
            };
            self.version = self.version.max(version);
        }
        if self.archives.is_empty() {
            return Err(refuse!("you must define at least one Round Robin Archive"));
        }
        match self.sources.is_empty() {
            true => Err(refuse!("you must define at least one Data Source")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_known_before_the_file_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.rrd");
        let definitions = ["DS:in:GAUGE:600:U:U", "RRA:AVERAGE:0.5:1:1000", "RRA:MAX:0.5:12:7"];
        let options = Options::default();
        let size = size_bytes(&path, &options, &definitions, 1_000_000).unwrap();
        create(&path, &options, &definitions, 1_000_000).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
        assert!(size_bytes(&path, &options, &["RRA:MAX:0.5:12:7"], 0).is_err());
    }
}
