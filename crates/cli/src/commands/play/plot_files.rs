//! `-P -f PATH`: plot files of recordings, a set for each host and day.
//!
//! An existing file is not changed: `-oa` appends to it, `-oc` creates it anew, `-ou` makes a file
//! for each recording.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use jiff::Zoned;
use layout::Frame;
use recorder::{FileNames, PlotOutput, PlotStyle, ensure_directory};
use view::PlotFiles;

use super::frames::{FrameConsumer, PlayedSet};

/// Frames go to plot files.
pub(crate) struct PlotFileSets {
    path: PathBuf,
    command_line: String,
    open: Option<(PlotFiles, PlotOutput)>,
}

impl PlotFileSets {
    /// Files at `path`, as `-f` names it.
    pub(crate) fn new(path: &Path) -> Self {
        PlotFileSets {
            path: path.to_owned(),
            command_line: crate::words::line_after(1),
            open: None,
        }
    }

    fn close(&mut self) -> anyhow::Result<()> {
        if let Some((_, mut output)) = self.open.take() {
            output.end()?;
        }
        Ok(())
    }
}

impl FrameConsumer for PlotFileSets {
    fn begin(&mut self, set: &PlayedSet<'_>, _out: &mut dyn Write) -> anyhow::Result<()> {
        self.close()?;
        let prefix = set.recordings[0].name_prefix();
        let names = FileNames::new(&self.path, set.meta.host()).with_prefix(prefix);
        ensure_directory(&names)?;
        let letters = &set.options.letters;
        let style = PlotStyle::of(letters);
        let recording = set.recordings[0];
        // The date of its header, in whatever zone its times are shown.
        let at = recording.started(&recording.zone);
        let mut lines = PlotFiles::new(set.zone.clone());
        lines.begin(set.meta, set.defs, set.options, &self.command_line);
        if !letters.contains(['a', 'c']) {
            refuse_existing(&names, &at, style, &lines, recording.modified())?;
        }
        self.open = Some((lines, PlotOutput::new(names, style, at)));
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, _out: &mut dyn Write) -> anyhow::Result<bool> {
        if let Some((lines, output)) = &mut self.open {
            lines.frame(frame, &mut |extension, text| output.add(extension, text))?;
        }
        Ok(true)
    }

    fn end(&mut self, _out: &mut dyn Write) -> anyhow::Result<Vec<String>> {
        self.close()?;
        Ok(Vec::new())
    }
}

/// Fails if any of the files exists; with `-ou` only if it is newer than the recording.
fn refuse_existing(
    names: &FileNames,
    at: &Zoned,
    style: PlotStyle,
    lines: &PlotFiles,
    recorded: Option<std::time::SystemTime>,
) -> anyhow::Result<()> {
    let mut extensions: Vec<&str> = lines.extensions().collect();
    extensions.dedup();
    ensure!(!extensions.is_empty(), "-P: none of these subsystems has plot columns");
    for extension in extensions {
        let mut path = names.plot(at, extension, style.unique);
        if style.compressed {
            path.as_mut_os_string().push(".gz");
        }
        let Ok(file) = std::fs::metadata(&path) else { continue };
        let name = path.display();
        if !style.unique {
            bail!("{name} exists and is not touched; -oc begins it anew, -oa adds to it");
        }
        if file.modified().ok() > recorded {
            bail!("{name} is newer than the recording; -ocu makes it anew");
        }
    }
    Ok(())
}
