//! What a run takes from the process that it is in, so that the library reads no environment itself.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::collect::OutputSize;

/// The environment of this process, on which jobs and shells depend.
#[derive(Debug, Default)]
pub struct UserEnvironment {
    /// The environment variables.
    pub variables: Vec<(OsString, OsString)>,
    /// The user's shell.
    pub shell: PathBuf,
    /// The directory of temporary files unless an option sets it.
    pub temporary_folder: PathBuf,
    /// The working directory.
    pub current_folder: PathBuf,
    /// The directory of the user's files; `None` if there is no home directory.
    pub config_folder: Option<PathBuf>,
    /// Offset of local time from UTC in seconds.
    pub zone_offset_s: i64,
    /// The columns and rows of standard output.
    pub output_size: Option<OutputSize>,
}

impl UserEnvironment {
    /// The value of a variable.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// The value of a variable as bytes; empty if it is not set.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.variable(name).unwrap_or_default().as_bytes().to_vec()
    }
}
