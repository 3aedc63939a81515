//! Copies parts of recordings into new files.

use std::path::{Path, PathBuf};

use recording::{Writer, WriterOptions};
use sample::Snapshot;

use crate::recorded::{entries_for, recordable};
use crate::{
    CollectlFeed, CollectlSettings, ExtractError, Feed, FeedError, ImportedFeed, Origin,
    RecordedFile, TimeRange, TimeSelection,
};

/// A new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractedTo {
    /// The new file.
    pub path: PathBuf,
    /// The number of its samples; `None` if collectl's text was copied.
    pub samples: Option<u64>,
}

/// Copies the period of each recording into the folder `to`, or into the recording's folder with
/// `to-` before its name.  A `to` that ends in `.whit` is the name of the new recording, in whit's
/// format.  Existing files are not changed.  Calls `done` for each new file.
///
/// # Errors
/// If reading or writing fails; an incomplete new file is removed or has what could be read.
pub fn extract(
    recordings: &[RecordedFile],
    selection: &TimeSelection,
    to: &Path,
    done: &mut dyn FnMut(&ExtractedTo),
) -> Result<(), ExtractError> {
    if to.extension().is_some_and(|extension| extension == "whit") {
        let [recording] = recordings else {
            return Err(ExtractError::SeveralIntoOne(to.to_owned()));
        };
        done(&extract_whit(recording, selection, to)?);
        return Ok(());
    }
    if selection.is_all() {
        return Err(ExtractError::NoPeriod);
    }
    if to.as_os_str().as_encoded_bytes().ends_with(b"/") {
        std::fs::create_dir_all(to)
            .map_err(|source| ExtractError::Folder { path: to.to_owned(), source })?;
    }
    for recording in recordings {
        let target = target_of(&recording.path, to)?;
        done(&match recording.origin {
            Origin::Collectl => extract_collectl(recording, selection, target)?,
            Origin::Whit => extract_whit(recording, selection, &target)?,
            Origin::Atop | Origin::Sadc => {
                return Err(ExtractError::ImportedCopy(recording.path.clone()));
            }
        });
    }
    Ok(())
}

/// Copies collectl's text.
fn extract_collectl(
    recording: &RecordedFile,
    selection: &TimeSelection,
    path: PathBuf,
) -> Result<ExtractedTo, ExtractError> {
    let range = recording.range(selection).map_err(FeedError::from)?;
    let copied = recording::collectl::extract(&recording.path, &path, range.base_ns, range.thru_ns);
    match copied {
        Ok(_) => Ok(ExtractedTo { path, samples: None }),
        Err(source) => Err(ExtractError::Copy { path, source }),
    }
}

/// Copies the period into a recording of whit.
fn extract_whit(
    recording: &RecordedFile,
    selection: &TimeSelection,
    to: &Path,
) -> Result<ExtractedTo, ExtractError> {
    let range = recording.range(selection).map_err(FeedError::from)?;
    let samples = match recording.origin {
        Origin::Whit => {
            let options = WriterOptions::default();
            let (base_ns, thru_ns) = (range.base_ns, range.thru_ns);
            recording::extract(&recording.path, to, base_ns, thru_ns, options)
                .map_err(FeedError::from)?
                .samples
        }
        Origin::Atop | Origin::Collectl | Origin::Sadc => convert(recording, range, to)?,
    };
    match samples {
        0 => Err(ExtractError::NoSamples(recording.path.clone())),
        _ => Ok(ExtractedTo { path: to.to_owned(), samples: Some(samples) }),
    }
}

/// Writes the numbers of another program's recording as a recording of whit.
fn convert(recording: &RecordedFile, range: TimeRange, to: &Path) -> Result<u64, ExtractError> {
    let entries = entries_for(&recordable(recording.meta.subsystems()));
    let mut feed: Box<dyn Feed> = match recording.origin {
        Origin::Atop | Origin::Sadc => {
            Box::new(ImportedFeed::open(&recording.path, recording.origin, &entries)?)
        }
        _ => {
            let settings = CollectlSettings::default();
            Box::new(CollectlFeed::open(&recording.path, &entries, &settings)?)
        }
    };
    let defs = feed.defs();
    let mut writer = Writer::create(to, &recording.meta, &defs, WriterOptions::default())
        .map_err(FeedError::from)?;
    let mut snapshot = Snapshot::new(&defs);
    let mut samples = 0;
    while feed.next(&mut snapshot)? && snapshot.realtime_ns <= range.thru_ns {
        if snapshot.realtime_ns >= range.base_ns {
            writer.append(&snapshot)?;
            samples += 1;
        }
    }
    writer.close()?;
    if samples == 0 {
        std::fs::remove_file(to).map_err(ExtractError::Remove)?;
    }
    Ok(samples)
}

fn target_of(path: &Path, to: &Path) -> Result<PathBuf, ExtractError> {
    let name = path.file_name().ok_or_else(|| ExtractError::NoName(path.to_owned()))?;
    let target = if to.is_dir() {
        to.join(name)
    } else {
        let mut joined = to.as_os_str().to_owned();
        joined.push("-");
        joined.push(name);
        PathBuf::from(joined)
    };
    if target.exists() { Err(ExtractError::Exists(target)) } else { Ok(target) }
}
