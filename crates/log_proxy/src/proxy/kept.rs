//! Levels that last: as the central server has them, in every folder of rings.

use std::io::ErrorKind;
use std::path::Path;

use logring::KeptLevels;

use super::Proxy;

impl Proxy {
    /// Takes the levels that last, all of them.
    pub(super) fn take_kept(&mut self, body: &[u8]) {
        self.lasting = KeptLevels::parse(body);
        self.lasting_due.clone_from(&self.settings.folders);
        self.write_kept();
    }

    /// Writes them into the folders that have others; the loggers of running processes follow.  A folder
    /// that is not there yet is tried again.
    pub(super) fn write_kept(&mut self) {
        for folder in std::mem::take(&mut self.lasting_due) {
            if KeptLevels::read(&folder).is_ok_and(|known| known == self.lasting) {
                continue;
            }
            match self.lasting.write(&folder) {
                Ok(()) => self.apply_kept(&folder),
                Err(error) if error.kind() == ErrorKind::NotFound => self.lasting_due.push(folder),
                Err(error) => {
                    let folder = folder.display();
                    self.messages
                        .push(format!("{folder}/levels: {error}: levels do not last there"));
                }
            }
        }
    }

    fn apply_kept(&mut self, folder: &Path) {
        let sources = self.host.sources.values_mut();
        for source in sources.filter(|source| source.path.parent() == Some(folder)) {
            for logger in source.file.loggers().unwrap_or_default() {
                let (host, process) = (&source.info.host, &source.info.name);
                let (central, local) = self.lasting.of(host, process, &logger.name);
                if central.is_some() || local.is_some() {
                    let central = central.unwrap_or(logger.level_central);
                    let local = local.unwrap_or(logger.level_local);
                    // A file that its process has cut has no levels.
                    let _ = source.file.set_levels(logger.index, central, local);
                }
            }
            source.levels.forget();
        }
    }
}
