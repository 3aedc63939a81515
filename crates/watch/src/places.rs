//! Where a service has its configuration, its data and its state.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where the service finds its file and its program, and keeps what it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePlaces {
    /// The configuration that is read if there is one.
    pub file: PathBuf,
    /// Whether `data` was asked for, whatever a file says.
    pub is_asked: bool,
    /// The folder of data if no file names one.
    pub data: PathBuf,
    /// Folder of the state that need not outlive a boot: `parts.json`, `watch.pid`.
    pub runtime: PathBuf,
    /// The program of the parts.
    pub program: PathBuf,
}

impl ServicePlaces {
    /// Where a verb looks for a service: the places of this user, then those of the machine's service.
    #[must_use]
    pub fn to_look_at(is_root: bool, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<Self> {
        let own = Self::of(is_root, variable, None);
        let machine = Self::of(true, &|_| None, None);
        if own == machine { vec![own] } else { vec![own, machine] }
    }

    /// The places of a user, by the variables of its environment; `folder` is asked for in place of that
    /// of data, and has the state, too.
    #[must_use]
    pub fn of(
        is_root: bool,
        variable: &dyn Fn(&str) -> Option<OsString>,
        folder: Option<&Path>,
    ) -> Self {
        let path = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || path("HOME").unwrap_or_else(|| "/".into());
        // What a service manager has made for this service comes first.
        let data = folder.map(Path::to_owned).or_else(|| path("STATE_DIRECTORY"));
        let data = data.unwrap_or_else(|| match is_root {
            true => "/var/lib/whit".into(),
            false => {
                path("XDG_STATE_HOME").unwrap_or_else(|| home().join(".local/state")).join("whit")
            }
        });
        let file = match is_root {
            true => "/etc/whit/whit.toml".into(),
            false => {
                let configs = path("XDG_CONFIG_HOME").unwrap_or_else(|| home().join(".config"));
                configs.join("whit/whit.toml")
            }
        };
        let runtime = match (folder, is_root) {
            (Some(folder), _) => folder.join("run"),
            (None, true) => "/run/whit-watch".into(),
            (None, false) => match path("XDG_RUNTIME_DIR") {
                Some(runtime) => runtime.join("whit-watch"),
                None => data.join("run"),
            },
        };
        let runtime = path("RUNTIME_DIRECTORY").unwrap_or(runtime);
        ServicePlaces { file, is_asked: folder.is_some(), data, runtime, program: own_program() }
    }
}

/// The file of this program, after which the kernel names the parts; what runs, if the file has gone.
fn own_program() -> PathBuf {
    const RUNNING: &str = "/proc/self/exe";
    let file = std::fs::read_link(RUNNING).ok().filter(|path| path.exists());
    file.unwrap_or_else(|| RUNNING.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_its_places() {
        let none = |_: &str| None;
        let root = ServicePlaces::of(true, &none, None);
        assert_eq!(root.data, Path::new("/var/lib/whit"));
        assert_eq!(root.runtime, Path::new("/run/whit-watch"));
        assert_eq!(root.program, std::env::current_exe().unwrap());
        let of = |name: &str| Some(OsString::from(format!("/{name}")));
        let user = ServicePlaces::of(false, &|name| of(name).filter(|_| name == "HOME"), None);
        assert_eq!(user.data, Path::new("/HOME/.local/state/whit"));
        assert_eq!(user.file, Path::new("/HOME/.config/whit/whit.toml"));
        assert_eq!(user.runtime, Path::new("/HOME/.local/state/whit/run"));
        let user =
            ServicePlaces::of(false, &|name| of(name).filter(|_| name.starts_with('X')), None);
        assert_eq!(user.data, Path::new("/XDG_STATE_HOME/whit"));
        assert_eq!(user.runtime, Path::new("/XDG_RUNTIME_DIR/whit-watch"));
        let asked = ServicePlaces::of(false, &none, Some(Path::new("/f")));
        assert_eq!((asked.data, asked.runtime), ("/f".into(), "/f/run".into()));
        let managed = ServicePlaces::of(false, &of, None);
        assert_eq!(managed.data, Path::new("/STATE_DIRECTORY"));
        assert_eq!(managed.runtime, Path::new("/RUNTIME_DIRECTORY"));
    }
}
