//! Where a program logs that names no folder: the C client by what it does, beside the rule in Rust.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use logring::folder::FolderRule;

use crate::c_client::{client, compile};

/// A machine's folders, and a program in C that takes them for the machine's.
struct Machine {
    root: PathBuf,
    program: PathBuf,
}

impl Machine {
    fn rule(&self, named: bool) -> FolderRule {
        FolderRule {
            user: FolderRule::of_program().user,
            named: named.then(|| self.root.join("named")),
            runtime: Some(self.root.join("runtime")),
            shared: self.root.join("shared"),
            memory: self.root.join("memory"),
        }
    }

    fn own(&self, place: &str) -> PathBuf {
        let user = self.rule(false).user;
        match place {
            "shared" => self.root.join(format!("shared/{user}")),
            "runtime" => self.root.join("runtime/whit-log"),
            _ => self.root.join(format!("memory/whit-log-{user}")),
        }
    }

    /// Empty folders again.
    fn clear(&self) {
        let _ = std::fs::remove_dir_all(self.root.join("named"));
        for (name, mode) in [("shared", 0o1777), ("runtime", 0o700), ("memory", 0o1777)] {
            let path = self.root.join(name);
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir(&path).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
    }

    /// Runs the program; gives where its file is, and what it said.
    fn run(&self, named: bool) -> (Option<PathBuf>, String) {
        let mut command = Command::new(&self.program);
        command.args(["default", "-"]).env("XDG_RUNTIME_DIR", self.root.join("runtime"));
        command.env_remove("WHIT_LOG_DIRECTORY");
        if named {
            command.env("WHIT_LOG_DIRECTORY", self.root.join("named"));
        }
        let Output { status, stderr, .. } = command.output().unwrap();
        assert!(status.success(), "{status}");
        let places = ["shared", "runtime", "memory"].map(|place| self.own(place));
        let found = places.into_iter().chain([self.root.join("named")]).find(|folder| {
            std::fs::read_dir(folder).is_ok_and(|mut all| {
                all.any(|one| one.unwrap().path().extension().is_some_and(|end| end == "process"))
            })
        });
        (found, String::from_utf8(stderr).unwrap())
    }

    /// Both do the same: the folder, and what is refused; gives the folder, if one is good.
    fn both(&self, what: &str, named: bool) -> (Option<PathBuf>, String) {
        let (by_c, said) = self.run(named);
        let (chosen, refused) = self.rule(named).choose();
        let is_good = logring::folder::check(&chosen).is_ok_and(|fault| fault.is_none());
        assert_eq!(by_c, is_good.then_some(chosen), "{what}: {said}");
        for one in &refused {
            assert!(said.contains(&format!(": {one}\n")), "{what}: {one}: {said}");
        }
        let lines = refused.len() + usize::from(by_c.is_none());
        assert_eq!(said.lines().count(), lines, "{what}: {said}");
        (by_c, said)
    }
}

/// Makes a folder that is not safe, in ways that another user can.
fn spoil(path: &Path, how: &str) -> bool {
    match how {
        "link" => symlink("/tmp", path).unwrap(),
        "file" => std::fs::write(path, "").unwrap(),
        "open" => {
            std::fs::create_dir(path).unwrap();
            std::fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        }
        _ => {
            std::fs::create_dir(path).unwrap();
            // Only root can give a folder away.
            return chown(path, Some(54_321), None).is_ok();
        }
    }
    true
}

#[test]
fn c_and_rust_choose_the_same_folder_and_refuse_the_same_aloud() {
    if !testkit::is_installed("the C client's default folder", "cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    let define = |name, path| format!("-D{name}=\"{}\"", root.join(path).display());
    let (shared, memory) =
        (define("WHIT_LOG_SHARED", "shared"), define("WHIT_LOG_MEMORY", "memory"));
    let program = root.join("program");
    let parts = ["-std=c11", &shared, &memory, "tests/program.c", "src/whit_log.c"];
    assert!(client().is_dir());
    compile("cc", &parts, &program);
    let machine = Machine { root, program };
    let places = ["shared", "runtime", "memory"];

    machine.clear();
    assert_eq!(machine.both("named", true).0, Some(machine.root.join("named")));
    assert_eq!(machine.both("all", false).0, Some(machine.own("shared")));
    for (at, place) in places.iter().enumerate() {
        for how in ["link", "file", "open", "foreign"] {
            machine.clear();
            if !spoil(&machine.own(place), how) {
                continue;
            }
            if at > 0 {
                std::fs::remove_dir(machine.root.join("shared")).unwrap();
            }
            if at > 1 {
                std::fs::remove_dir(machine.root.join("runtime")).unwrap();
            }
            let next = places.get(at + 1).map(|place| machine.own(place));
            let (chosen, said) = machine.both(&format!("{place} {how}"), false);
            assert_eq!(chosen, next, "{place} {how}");
            assert!(said.contains(machine.own(place).to_str().unwrap()), "{place} {how}: {said}");
        }
    }
    // Folders around it that somebody else may change, or that are links, do not count.
    machine.clear();
    let around = |name: &str, mode| {
        std::fs::set_permissions(machine.root.join(name), Permissions::from_mode(mode)).unwrap();
    };
    around("shared", 0o777);
    assert_eq!(machine.both("not sticky", false).0, Some(machine.own("runtime")));
    machine.clear();
    around("shared", 0o777);
    around("runtime", 0o770);
    assert_eq!(machine.both("runtime of a group", false).0, Some(machine.own("memory")));
}
