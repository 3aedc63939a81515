//! `--procanalyze` and `--slabanalyze`: a file for each host and day, with a line for each
//! instance.
//!
//! As collectl does, a file that is there is overwritten.

use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Zoned;
use layout::{Frame, Options};
use recorder::{FileNames, PlotOutput, PlotStyle, ensure_directory};
use view::Digests;

use super::frames::{FrameConsumer, PlayedSet};

/// Frames go to digests.
pub(crate) struct DigestFiles {
    path: PathBuf,
    names: Vec<&'static str>,
    open: Option<(Digests, FileNames, Zoned, Options)>,
    notes: Vec<String>,
}

impl DigestFiles {
    /// Files at `path`, as `-f` names it.
    pub(crate) fn new(path: &Path, names: Vec<&'static str>) -> Self {
        DigestFiles { path: path.to_owned(), names, open: None, notes: Vec::new() }
    }

    fn close(&mut self) -> anyhow::Result<()> {
        let Some((digests, names, at, options)) = self.open.take() else { return Ok(()) };
        let style = PlotStyle { anew: true, unique: false, ..PlotStyle::of(&options.letters) };
        let mut output = PlotOutput::new(names, style, at);
        let write = &mut |extension: &str, text: &[u8]| output.add(extension, text);
        self.notes.extend(digests.finish(&options, write)?);
        output.end()?;
        Ok(())
    }
}

impl FrameConsumer for DigestFiles {
    fn begin(&mut self, set: &PlayedSet<'_>, _out: &mut dyn Write) -> anyhow::Result<()> {
        let prefix = set.recordings[0].name_prefix();
        let names = FileNames::new(&self.path, set.meta.host()).with_prefix(prefix);
        let at = set.recordings[0].started(&set.recordings[0].zone);
        // Recordings of one host and day share a file, whatever their sources are.
        if let Some((digests, open, since, options)) = &mut self.open
            && *open == names
            && since.date() == at.date()
        {
            digests.continue_with(&self.names, set.defs, set.options);
            options.clone_from(set.options);
            return Ok(());
        }
        self.close()?;
        ensure_directory(&names)?;
        let digests = Digests::of(&self.names, set.defs, set.options, set.zone.clone());
        self.open = Some((digests, names, at, set.options.clone()));
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, _out: &mut dyn Write) -> anyhow::Result<bool> {
        if let Some((digests, ..)) = &mut self.open {
            digests.add_interval(frame);
        }
        Ok(true)
    }

    fn end(&mut self, _out: &mut dyn Write) -> anyhow::Result<Vec<String>> {
        self.close()?;
        Ok(std::mem::take(&mut self.notes))
    }
}
