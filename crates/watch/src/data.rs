//! Where a verb that is given no path finds what the service of this machine has recorded.

use std::io;
use std::path::{Path, PathBuf};

use crate::configuration::{Configuration, ConfigurationError};
use crate::keys::{RECORDINGS, STORE};
use crate::places::ServicePlaces;
use crate::status;

/// A kind of data that a service keeps in a folder of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Recordings of this machine and of polled devices.
    Recordings,
    /// The store of log records.
    Log,
}

/// Why there is no folder of data.
#[derive(Debug, thiserror::Error)]
pub enum ServiceDataError {
    /// No service has data here.
    #[error(
        "no path is given and no service has data here: there is no {}; name a path, or start a \
         service with whit watch or systemctl start whit",
        .0.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and no ")
    )]
    None(Vec<PathBuf>),
    /// A folder cannot be looked at.
    #[error("no path is given and the data of the service at {} cannot be read", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// The configuration is wrong.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
}

impl DataKind {
    /// The key of its folder.
    pub(crate) fn key(self) -> &'static str {
        match self {
            DataKind::Recordings => RECORDINGS,
            DataKind::Log => STORE,
        }
    }

    /// The folder of this kind: of the first service that runs at one of the places, else the first that
    /// exists of those that the configurations name.
    ///
    /// # Errors
    /// If there is none, if it cannot be read, or if a configuration is wrong.
    pub fn find(self, all: &[ServicePlaces]) -> Result<PathBuf, ServiceDataError> {
        let running = all.iter().find_map(|places| status::running(&places.runtime).ok());
        let named = running.and_then(|account| match self {
            DataKind::Recordings => account.recordings,
            DataKind::Log => account.log_store,
        });
        if let Some(folder) = named {
            return existing(&folder)?.ok_or_else(|| ServiceDataError::None(vec![folder]));
        }
        let mut missing = Vec::new();
        for places in all {
            let configuration = Configuration::in_force(places, None)?;
            let Some(folder) = configuration.path_of(self.key()) else { continue };
            if let Some(folder) = existing(&folder)? {
                return Ok(folder);
            }
            if !missing.contains(&folder) {
                missing.push(folder);
            }
        }
        Err(ServiceDataError::None(missing))
    }
}

/// Where the central log server of a service listens first: of the first of the places whose configuration
/// has one; `usual` without.
///
/// # Errors
/// If a configuration is wrong.
pub fn central_of(all: &[ServicePlaces], usual: &str) -> Result<String, ConfigurationError> {
    for places in all {
        let configuration = Configuration::in_force(places, None)?;
        let listens = configuration.texts("log.central.listen").unwrap_or_default();
        let first = listens.first().filter(|_| configuration.is_on("log.central.enabled"));
        if let Some(address) = first {
            return Ok((*address).to_owned());
        }
    }
    Ok(usual.to_owned())
}

/// The path, if something is there.
fn existing(path: &Path) -> Result<Option<PathBuf>, ServiceDataError> {
    match path.metadata() {
        Ok(_) => Ok(Some(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ServiceDataError::Unreadable { path: path.to_owned(), error }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn places(folder: &Path) -> ServicePlaces {
        let mut places = ServicePlaces::of(false, &|_| None, Some(folder));
        places.is_asked = false;
        places.file = folder.join("whit.toml");
        places
    }

    #[test]
    fn the_central_server_is_that_of_the_first_service_with_one() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let all = [places(&first), places(&second)];
        assert_eq!(central_of(&all, "/u").unwrap(), "/u");
        fs::create_dir_all(&second).unwrap();
        let text = "[log.central]\nenabled = true\nlisten = [\"/c.sock\", \"h:1\"]\n";
        fs::write(second.join("whit.toml"), text).unwrap();
        assert_eq!(central_of(&all, "/u").unwrap(), "/c.sock");
        fs::write(second.join("whit.toml"), text.replace("true", "false")).unwrap();
        assert_eq!(central_of(&all, "/u").unwrap(), "/u");
    }

    #[test]
    fn data_of_the_running_service_come_before_those_that_configurations_name() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let all = [places(&first), places(&second)];
        let none = DataKind::Recordings.find(&all).unwrap_err().to_string();
        for words in ["first/recordings and no /", "second/recordings;", "name a path"] {
            assert!(none.contains(words), "{none}");
        }
        fs::create_dir_all(second.join("recordings")).unwrap();
        assert_eq!(DataKind::Recordings.find(&all).unwrap(), second.join("recordings"));
        // The file of the first names another folder.
        fs::create_dir_all(first.join("mine")).unwrap();
        fs::write(first.join("whit.toml"), "[log.central]\nstore = \"mine\"\n").unwrap();
        assert_eq!(DataKind::Log.find(&all).unwrap(), first.join("mine"));
        // The second runs, with other folders than its file has now.
        let (pid, other) = (std::process::id(), second.join("other"));
        fs::create_dir_all(second.join("run")).unwrap();
        let account = serde_json::json!({ "pid": pid, "log.central.store": other });
        fs::write(second.join("run/parts.json"), account.to_string()).unwrap();
        assert!(
            matches!(DataKind::Log.find(&all), Err(ServiceDataError::None(tried)) if tried == [&*other])
        );
        fs::create_dir_all(&other).unwrap();
        assert_eq!(DataKind::Log.find(&all).unwrap(), other);
        // A wrong file is told.
        fs::write(first.join("whit.toml"), "[record]\nx = 1\n").unwrap();
        let said = DataKind::Recordings.find(&all).unwrap_err().to_string();
        assert!(said.contains("whit.toml:2:1: "), "{said}");
    }
}
