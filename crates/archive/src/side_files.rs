//! The side files of all recordings.

use feed::Origin;

use crate::archive::Recordings;
use crate::summary;

impl Recordings {
    /// Makes or adds to the side files of each recording: the columns of closed blocks of whit's, so
    /// that a range reads those that it wants and no others, and the summary of every recording, so
    /// that a long period is answered without its samples.  Returns what could not
    /// be written; answers do not depend on it.  Costs about as much as playing what is added; call
    /// it in the background.
    pub fn write_side_files(&self) -> Vec<String> {
        // A summary that is begun reads the whole recording, and makes its columns meanwhile.
        let summaries =
            self.files.iter().filter_map(|file| Some(summary::write(file).err()?.to_string()));
        let mut complaints: Vec<String> = summaries.collect();
        let whit = self.files.iter().filter(|file| file.file.origin == Origin::Whit);
        let written = whit.map(|file| recording::write_side_file(&file.file.path));
        complaints.extend(written.filter_map(|written| Some(written.err()?.to_string())));
        complaints
    }
}
