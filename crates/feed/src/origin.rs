//! Which program wrote a recording, and its facts.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use recording::Reader;
use recording::atop::{AtopReader, is_atop_start};
use recording::collectl::{CollectlReader, is_collectl_name};
use recording::sadc::{SadcReader, is_sadc_start};
use sample::Meta;

use crate::FeedError;

/// The first bytes of every recording of whit; its reader checks the rest.
const WHIT_START: &[u8] = b"\x89WHIT";

/// Which program wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// atop.
    Atop,
    /// collectl.
    Collectl,
    /// sysstat's `sadc`.
    Sadc,
    /// whit.
    Whit,
}

/// Detects by the first bytes, or for an empty file by the name, which program wrote it.
///
/// # Errors
/// The file cannot be read or is not a recording.
pub fn origin_of(path: &Path) -> Result<Origin, FeedError> {
    let mut first = [0; 16];
    let failed =
        |what| move |source| FeedError::Io { path: path.to_owned(), what: Some(what), source };
    // Before it is opened: to open a pipe that nobody writes waits for ever.
    let kind = std::fs::metadata(path).map_err(failed("open"))?.file_type();
    if kind.is_dir() {
        return Err(FeedError::Folder(path.to_owned()));
    }
    if !kind.is_file() {
        return Err(FeedError::NotAFile(path.to_owned()));
    }
    let mut file = File::open(path).map_err(failed("open"))?;
    let count = file.read(&mut first).map_err(failed("read"))?;
    let collectl = first.starts_with(b"#") || first.starts_with(&[0x1f, 0x8b]);
    if collectl || count == 0 && is_collectl_name(path) {
        return Ok(Origin::Collectl);
    }
    if count == 0 {
        return Err(FeedError::Empty(path.to_owned()));
    }
    if is_sadc_start(&first) {
        return Ok(Origin::Sadc);
    }
    if is_atop_start(&first) {
        return Ok(Origin::Atop);
    }
    if !first.starts_with(WHIT_START) {
        return Err(FeedError::NotARecording(path.to_owned()));
    }
    Ok(Origin::Whit)
}

/// The facts of a recording of any of these programs.
///
/// # Errors
/// The file cannot be read.
pub fn meta_of(path: &Path, origin: Origin) -> Result<Meta, FeedError> {
    match origin {
        Origin::Collectl => Ok(CollectlReader::open(path)?.meta().clone()),
        Origin::Atop => Ok(AtopReader::open(path)?.meta().clone()),
        Origin::Sadc => Ok(SadcReader::open(path)?.meta().clone()),
        Origin::Whit => Ok(Reader::open(path, &[])?.meta().clone()),
    }
}
