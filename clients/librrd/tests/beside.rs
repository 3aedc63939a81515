//! Programs that use RRDtool's library, run with that library and with ours: the same output.
//!
//! The programs are Debian's: the bindings of Python and Perl, `rrdtool`, `rrdcached`; and a C
//! program that is compiled against our header.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use testkit::Running;

/// The library that is tested, from the build of this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let built = [folder.join("librrd_c.so"), folder.parent().unwrap().join("librrd_c.so")];
    let newest = built
        .iter()
        .filter(|path| path.exists())
        .max_by_key(|path| path.metadata().and_then(|metadata| metadata.modified()).unwrap());
    newest.expect("librrd_c.so is built with this test").clone()
}

/// A folder in which our library has its name; and one to work in for each side.
struct Sides {
    folder: TempDir,
}

impl Sides {
    fn new() -> Self {
        // collectd writes into no folder whose name begins with a dot.
        let folder = tempfile::Builder::new().prefix("librrd-").tempdir().unwrap();
        for name in ["lib", "theirs", "ours"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        symlink(library(), folder.path().join("lib/librrd.so.8")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command of one side, in its folder.
    fn command(&self, program: impl AsRef<Path>, is_ours: bool) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.path(if is_ours { "ours" } else { "theirs" }));
        command.env_remove("RRDCACHED_ADDRESS").env("TZ", "Europe/Zurich").env("LC_ALL", "C");
        if is_ours {
            command.env("LD_LIBRARY_PATH", self.path("lib"));
        }
        command
    }

    /// What both sides print, and how they end.
    fn run(&self, program: &str, arguments: &[&str]) -> [String; 2] {
        [false, true].map(|is_ours| {
            let output = self.command(program, is_ours).args(arguments).output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            format!("{}{}", String::from_utf8_lossy(&text), output.status)
        })
    }
}

/// Whether a program runs here with RRDtool's library.
fn is_here(program: &str, arguments: &[&str]) -> bool {
    let tried = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).display().to_string()
}

/// Compares texts line by line.
fn assert_same(theirs: &str, ours: &str) {
    let theirs_whole = theirs;
    let difference = theirs.lines().zip(ours.lines()).enumerate().find(|(_, (a, b))| a != b);
    if let Some((line, (theirs, ours))) = difference {
        let of = theirs_whole.lines().next().unwrap_or_default();
        panic!("line {} ({of})\ntheirs: {theirs}\nours:   {ours}", line + 1);
    }
    assert_eq!(theirs.lines().count(), ours.lines().count(), "\ntheirs: {theirs}\nours: {ours}");
}

/// The distribution's own: a package's modules are in no other.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn the_binding_of_python_gives_the_same() {
    if !is_here(PYTHON, &["-c", "import rrdtool"]) {
        testkit::skip("python3-rrdtool", "/usr/bin/python3 has no module rrdtool");
        return;
    }
    let [theirs, ours] = Sides::new().run(PYTHON, &[&script("binding.py")]);
    assert!(theirs.contains("exit status: 0"), "{theirs}");
    assert_same(&theirs, &ours);
}

/// An error, where RRDtool's library and the binding together end the program.
#[test]
fn a_fetch_that_fails_in_python_is_an_exception() {
    if !is_here(PYTHON, &["-c", "import rrdtool"]) {
        testkit::skip("python3-rrdtool", "/usr/bin/python3 has no module rrdtool");
        return;
    }
    let [_, ours] = Sides::new().run(PYTHON, &[&script("failing_fetch.py")]);
    assert_eq!(ours.lines().count(), 6, "{ours}");
    assert!(ours.ends_with("exit status: 0"), "{ours}");
}

#[test]
fn functions_without_a_binding_give_the_same() {
    if their_library().is_none() || !is_here(PYTHON, &["-c", "import ctypes"]) {
        testkit::skip("librrd8", "there is no librrd.so.8, or no python3");
        return;
    }
    let [theirs, ours] = Sides::new().run(PYTHON, &[&script("helpers.py")]);
    assert!(theirs.contains("exit status: 0"), "{theirs}");
    assert_same(&theirs, &ours);
}

#[test]
fn the_binding_of_perl_gives_the_same() {
    if !is_here("perl", &["-MRRDs", "-e", "1"]) {
        testkit::skip("librrds-perl", "perl has no module RRDs");
        return;
    }
    let [theirs, ours] = Sides::new().run("perl", &[&script("binding.pl")]);
    assert!(theirs.contains("exit status: 0"), "{theirs}");
    assert_same(&theirs, &ours);
}

#[test]
fn the_program_rrdtool_gives_the_same() {
    if !is_here("rrdtool", &["--version"]) {
        testkit::skip("rrdtool", "it is not installed");
        return;
    }
    let sides = Sides::new();
    let commands = fs::read_to_string(script("commands.txt")).unwrap();
    for command in commands.lines() {
        let words: Vec<&str> = command.split(' ').collect();
        let [theirs, ours] = sides.run("rrdtool", &words);
        assert_same(&format!("$ {command}\n{theirs}"), &format!("$ {command}\n{ours}"));
    }
    // The pipe: replies end with a line of times.
    let piped = [false, true].map(|is_ours| {
        let input = sides.path("input");
        fs::write(&input, &commands).unwrap();
        let mut command = sides.command("rrdtool", is_ours);
        let input = fs::File::open(input).unwrap();
        let output = command.arg("-").stdin(input).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = text.lines().map(|line| line.split("OK u:").next().unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    });
    assert_same(&piped[0], &piped[1]);
}

/// A running rrdcached.
struct Daemon {
    _child: Running,
    address: String,
}

impl Daemon {
    /// Starts rrdcached on a socket in a side's folder.
    fn start(sides: &Sides, is_ours: bool) -> Self {
        let folder = sides.path(if is_ours { "ours" } else { "theirs" });
        let socket = folder.join("socket");
        let address = format!("unix:{}", socket.display());
        let mut command = sides.command("rrdcached", is_ours);
        command.args(["-g", "-l", &address, "-p"]).arg(folder.join("pid"));
        command.arg("-b").arg(&folder).arg("-j").arg(&folder);
        let child = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        testkit::connect(&socket);
        Self { _child: child, address }
    }
}

/// The system's library, to link with.
fn their_library() -> Option<PathBuf> {
    let folders =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    folders.iter().map(|folder| Path::new(folder).join("librrd.so.8")).find(|path| path.exists())
}

/// Compiles the C program against our header.
fn compiled(sides: &Sides, library: &Path) -> PathBuf {
    let program = sides.path("program");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let done = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(script("program.c"))
        .arg("-I")
        .arg(include)
        .arg(library)
        .arg("-lm")
        .status();
    assert!(done.unwrap().success());
    program
}

#[test]
fn a_program_in_c_gives_the_same() {
    let Some(theirs) = their_library() else {
        testkit::skip("librrd8", "there is no librrd.so.8");
        return;
    };
    if !Path::new("/usr/bin/rrdcached").exists() {
        testkit::skip("rrdcached", "it is not installed");
        return;
    }
    let sides = Sides::new();
    let program = compiled(&sides, &theirs);
    let outputs = [false, true].map(|is_ours| {
        let daemon = Daemon::start(&sides, false);
        let mut command = sides.command(&program, is_ours);
        // The daemon's folder, because files are named by it.
        command.current_dir(sides.path("theirs"));
        let output = command.arg(&daemon.address).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        drop(daemon);
        fs::remove_file(sides.path("theirs/c.rrd")).unwrap();
        format!("{text}{}", output.status)
    });
    assert!(outputs[0].contains("exit status: 0"), "{}", outputs[0]);
    assert_same(&outputs[0], &outputs[1]);
}

/// rrdcached itself on our library: updates that wait, flushes, reads.
#[test]
fn the_daemon_rrdcached_gives_the_same() {
    if !Path::new("/usr/bin/rrdcached").exists() || !is_here("rrdtool", &["--version"]) {
        testkit::skip("rrdcached", "it is not installed");
        return;
    }
    let sides = Sides::new();
    let commands = [
        "create a.rrd -b 1700000000 -s 60 DS:a:GAUGE:120:U:U RRA:AVERAGE:0.5:1:20",
        "create a.rrd -O DS:a:GAUGE:120:U:U RRA:AVERAGE:0.5:1:20",
        "update a.rrd 1700000060:1 1700000120:2",
        "update a.rrd 1700000120:2",
        "update -t a a.rrd 1700000180:5",
        "update no.rrd 1700000120:2",
        "update a.rrd 1700000240:7 1700000300:8",
        "last a.rrd",
        "flushcached a.rrd",
        "lastupdate a.rrd",
        "fetch a.rrd AVERAGE -s 1700000000 -e 1700000300",
        "fetch no.rrd AVERAGE -s 1700000000 -e 1700000300",
        "first a.rrd",
        "last no.rrd",
        "info no.rrd",
        "list /",
        "list x",
        "xport -s 1700000000 -e 1700000300 DEF:a=a.rrd:a:AVERAGE XPORT:a:a",
        "dump a.rrd",
        "tune a.rrd -h a:300",
    ];
    // The daemon and the client of one side are of its library.
    let outputs = [false, true].map(|is_ours| {
        let daemon = Daemon::start(&sides, is_ours);
        let mut all = String::new();
        for command in commands {
            let mut run = sides.command("rrdtool", is_ours);
            run.args(command.split(' ')).env("RRDCACHED_ADDRESS", &daemon.address);
            let output = run.output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            let mut lines: Vec<String> =
                String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
            if command.starts_with("list") {
                lines.sort_unstable();
            }
            let text = lines.join("\n").replace("/ours/", "/theirs/");
            all.push_str(&format!("$ {command}\n{text}\n{}\n", output.status));
        }
        all
    });
    assert_same(&outputs[0], &outputs[1]);
}

#[test]
fn collectd_records_the_same_files() {
    let Some([program, plugins, types]) = testkit::collectd() else {
        testkit::skip("collectd", "it is neither installed nor in target/collectd");
        return;
    };
    let sides = Sides::new();
    let infos = [false, true].map(|is_ours| {
        let folder = sides.path(if is_ours { "ours" } else { "theirs" });
        let [shown, plugins, types] = [&folder, &plugins, &types].map(|path| path.display());
        let configuration = format!(
            "Hostname \"host\"\nFQDNLookup false\nInterval 1\nBaseDir \"{shown}\"\n\
             PIDFile \"{shown}/pid\"\nPluginDir \"{plugins}\"\nTypesDB \"{types}\"\n\
             LoadPlugin load\nLoadPlugin rrdtool\n<Plugin rrdtool>\nDataDir \"{shown}/rrd\"\n\
             CacheTimeout 1\nCacheFlush 1\n</Plugin>\n"
        );
        fs::write(folder.join("collectd.conf"), configuration).unwrap();
        let mut command = sides.command(&program, is_ours);
        command.args(["-f", "-C", "collectd.conf"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = Running::start(&mut command);
        let file = folder.join("rrd/host/load/load.rrd");
        let info = || {
            let output = sides.command("rrdtool", false).arg("info").arg(&file).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        testkit::wait_until("a reading in the file", || {
            let info = info();
            let reading = info.lines().find(|line| line.starts_with("ds[shortterm].last_ds"));
            reading.is_some_and(|line| !line.contains("\"U\""))
        });
        child.signal(libc::SIGTERM);
        child.ended();
        let info = info();
        // Keys and what does not depend on the load.
        let fixed = |line: &&str| {
            ["type", "cf ", "rows", "heartbeat", "step"].iter().any(|key| line.contains(key))
        };
        info.lines().filter(fixed).collect::<Vec<_>>().join("\n")
    });
    assert!(infos[0].lines().count() > 30, "{}", infos[0]);
    assert_same(&infos[0], &infos[1]);
}

/// Random arguments, and null where something must be: no crash, no internal error.
#[test]
fn hostile_arguments_are_errors() {
    /// Calls of a long run; a short one has a tenth of them.
    const CALLS: usize = 4000;
    if !is_here(PYTHON, &["-c", "import ctypes"]) {
        testkit::skip("python3", "it is not installed");
        return;
    }
    let seed = testkit::seed(20_261_123).to_string();
    let calls = testkit::share(CALLS).to_string();
    let sides = Sides::new();
    let mut command = sides.command(PYTHON, true);
    command.arg(script("hostile.py")).arg(library()).args([&seed, &calls]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text == "alive\n", "seed {seed}: {}\n{text}", output.status);
}

/// What programs free is all that is allocated: the same number of blocks is lost after 3 and after
/// 9 turns of the C program.
#[test]
fn nothing_leaks() {
    if !is_here("valgrind", &["--version"]) {
        testkit::skip("valgrind", "it is not installed");
        return;
    }
    if !Path::new("/usr/bin/rrdcached").exists() {
        testkit::skip("rrdcached", "it is not installed");
        return;
    }
    let sides = Sides::new();
    let program = compiled(&sides, &library());
    let lost = ["3", "9"].map(|turns| {
        let daemon = Daemon::start(&sides, false);
        let mut command = sides.command("valgrind", true);
        command.current_dir(sides.path("theirs"));
        command.args([
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
            "--error-exitcode=9",
        ]);
        let output = command.arg(&program).arg(&daemon.address).arg(turns).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        fs::remove_file(sides.path("theirs/c.rrd")).unwrap();
        let line = text.lines().find(|line| line.contains("in use at exit")).map(str::to_owned);
        let line = line.unwrap_or_else(|| panic!("{text}"));
        line.split("at exit:").nth(1).unwrap_or_default().to_owned()
    });
    assert_eq!(lost[0], lost[1]);
}
