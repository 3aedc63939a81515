//! Programs of others as clients of `whit rrdcached` and of rrdcached: an hour of readings, a
//! second apart, and the same answers and the same files.

#![allow(clippy::unwrap_used, reason = "what fails in a test ends it")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::{Running, wait_for};

use crate::{WHIT, whit};

/// The time of the files' start.
const START: u64 = 1_700_000_000;
/// Readings of a file.
const HOUR: u64 = 3_600;

/// A daemon in a folder of its own.
struct Side {
    folder: tempfile::TempDir,
    _daemon: Running,
}

fn is_here(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Side {
    /// Starts rrdcached, or ours.
    fn start(is_ours: bool) -> Self {
        // collectd writes into no folder whose name begins with a dot.
        let folder = tempfile::Builder::new().prefix("clients-").tempdir().unwrap();
        let mut command = Command::new(if is_ours { WHIT } else { "rrdcached" });
        command.args(is_ours.then_some("rrdcached")).arg("-g").arg("-l");
        command.arg(format!("unix:{}/socket", folder.path().display()));
        command.args(["-w", "3600", "-f", "7200", "-b"]).arg(folder.path());
        command
            .arg("-p")
            .arg(folder.path().join("pid"))
            .arg("-j")
            .arg(folder.path().join("journal"));
        std::fs::create_dir(folder.path().join("journal")).unwrap();
        command.env("TZ", "UTC").stdin(Stdio::null()).stdout(Stdio::null());
        let daemon = Running::start(command.stderr(Stdio::null()));
        let side = Self { folder, _daemon: daemon };
        testkit::connect(&side.path("socket"));
        side
    }

    /// Both, if rrdcached is installed.
    fn both() -> Option<[Self; 2]> {
        if !Path::new("/usr/bin/rrdcached").exists() {
            testkit::skip("rrdcached", "it is not installed");
            return None;
        }
        Some([false, true].map(Self::start))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command that finds the daemon, in its folder.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("TZ", "UTC").env("LC_ALL", "C");
        command.env("RRDCACHED_ADDRESS", format!("unix:{}", self.path("socket").display()));
        command
    }

    /// What a command prints, without the folder's name.
    fn output(&self, command: &mut Command) -> String {
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let text = text.replace(&self.folder.path().display().to_string(), "FOLDER");
        format!("{text}{}", output.status)
    }

    /// The lines of an answer.
    fn ask(&self, line: &str) -> Vec<String> {
        let mut stream = UnixStream::connect(self.path("socket")).unwrap();
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        let first = lines.next().unwrap();
        let count = first.split(' ').next().unwrap().parse::<usize>().unwrap_or(0);
        std::iter::once(first).chain(lines.take(count)).collect()
    }

    /// A file as XML, without the daemon.
    fn dump(&self, name: &str) -> String {
        let mut command = self.command("rrdtool");
        self.output(command.env_remove("RRDCACHED_ADDRESS").args(["dump", name]))
    }
}

fn assert_same(theirs: &str, ours: &str) {
    let difference = theirs.lines().zip(ours.lines()).enumerate().find(|(_, (a, b))| a != b);
    if let Some((line, (theirs, ours))) = difference {
        panic!("line {}\ntheirs: {theirs}\nours:   {ours}", line + 1);
    }
    assert_eq!(theirs, ours);
}

/// The same file in both folders: rows of a new one begin at a random place.
fn make(sides: &[Side; 2], name: &str) {
    let definitions = "-s 1 DS:a:GAUGE:60:U:U DS:b:COUNTER:60:0:U RRA:AVERAGE:0.5:1:4000 \
                       RRA:MAX:0.5:60:100 RRA:AVERAGE:0.5:300:50";
    let mut command = whit();
    command
        .args(["rrd", "create", name, "-b", &START.to_string()])
        .args(definitions.split_whitespace());
    assert!(command.current_dir(sides[0].folder.path()).status().unwrap().success());
    std::fs::copy(sides[0].path(name), sides[1].path(name)).unwrap();
}

/// An hour of readings by Perl's binding, which finds the daemon by the variable; each side prints
/// what it was answered.
const PERL: &str = r#"
use RRDs;
my ($file, $start, $hour) = @ARGV;
sub check { my $e = RRDs::error; print "$_[0]: $e\n" if $e; }
for my $i (1 .. $hour) {
    RRDs::update($file, ($start + $i) . ':' . ($i % 97) . ':' . ($i * 1000));
    check("update $i");
}
RRDs::update($file, "$start:1:1"); check('past');
print RRDs::last($file), "\n"; check('last');
RRDs::flushcached($file); check('flushcached');
print RRDs::first($file), "\n"; check('first');
my ($from, $step, $names, $rows) = RRDs::fetch($file, 'AVERAGE', '-s', $start, '-e', $start + 60);
check('fetch');
print "$from $step @$names\n";
print join(' ', map { defined $_ ? $_ : 'U' } @$_), "\n" for @$rows;
my $info = RRDs::info($file); check('info');
print "$_ $info->{$_}\n" for grep { !/cur_row/ && defined $info->{$_} } sort keys %$info;
"#;

#[test]
fn an_hour_by_perl_is_the_same() {
    if !is_here("perl", &["-MRRDs", "-e", "1"]) {
        testkit::skip("librrds-perl", "perl has no module RRDs");
        return;
    }
    let Some(sides) = Side::both() else { return };
    make(&sides, "hour.rrd");
    let [theirs, ours] = sides.each_ref().map(|side| {
        let mut command = side.command("perl");
        command.args(["-e", PERL, "hour.rrd"]).args([START, HOUR].map(|n| n.to_string()));
        side.output(&mut command)
    });
    assert!(theirs.lines().count() > 80 && theirs.ends_with("exit status: 0"), "{theirs}");
    assert_same(&theirs, &ours);
    let [theirs, ours] = sides.each_ref().map(|side| std::fs::read(side.path("hour.rrd")).unwrap());
    assert!(theirs == ours, "the files differ");
    assert!(sides[0].dump("hour.rrd").contains(&format!("<lastupdate>{}", START + HOUR)));
}

/// What rrdtool sends to a daemon.  FIRST comes after a flush: rrdcached's does not know what waits.
/// Wrong readings are left out, which rrdcached takes and drops later; `cur_row` is at a random place in a file that is made.
const RRDTOOL: &str = "\
create made.rrd -b 1700000000 -s 1 DS:a:GAUGE:60:U:U RRA:AVERAGE:0.5:1:10
create made.rrd -O -b 1700000000 -s 1 DS:a:GAUGE:60:U:U RRA:AVERAGE:0.5:1:10
update made.rrd 1700000001:1 1700000002:2 1700000003:U
update made.rrd 1700000002:2
update absent.rrd 1700000005:1
update hour.rrd 1700000001:1:1000 1700000002:2:2000 1700000061:3:3000
last made.rrd
last hour.rrd
last absent.rrd
lastupdate hour.rrd
info hour.rrd
fetch hour.rrd AVERAGE -s 1700000000 -e 1700000070
fetch hour.rrd MAX -s 1700000000 -e 1700000120
fetch hour.rrd LAST -s 1700000000 -e 1700000070
fetch absent.rrd LAST
xport -s 1700000000 -e 1700000070 DEF:a=hour.rrd:a:AVERAGE XPORT:a:x
graph - -s 1700000000 -e 1700000070 --width 50 DEF:a=hour.rrd:a:AVERAGE PRINT:a:MAX:%lf
flushcached hour.rrd
flushcached absent.rrd
flushcached made.rrd hour.rrd
first made.rrd
first hour.rrd --rraindex 2
first hour.rrd --rraindex 9
dump hour.rrd
dump made.rrd
list .
list absent";

#[test]
fn rrdtool_is_answered_the_same() {
    if !is_here("rrdtool", &["--version"]) {
        testkit::skip("rrdtool", "it is not installed");
        return;
    }
    let Some(sides) = Side::both() else { return };
    make(&sides, "hour.rrd");
    for line in RRDTOOL.lines() {
        let [theirs, ours] = sides.each_ref().map(|side| {
            let mut command = side.command("rrdtool");
            side.output(command.args(line.split(' ')))
        });
        assert_same(&format!("$ {line}\n{theirs}"), &format!("$ {line}\n{ours}"));
    }
    let [theirs, ours] = sides.each_ref().map(|side| std::fs::read(side.path("hour.rrd")).unwrap());
    assert!(theirs == ours, "the files differ");
}

#[test]
fn an_hour_by_collectd_is_the_same() {
    let Some([program, plugins, types]) = testkit::collectd() else {
        testkit::skip("collectd", "it is neither installed nor in target/collectd");
        return;
    };
    let Some(sides) = Side::both() else { return };
    let [theirs, ours] = sides.each_ref().map(|side| {
        let [shown, plugins, types] =
            [side.folder.path(), &plugins, &types].map(|path| path.display().to_string());
        // Several threads would send readings in any order, and none may be older than the last.
        let configuration = format!(
            "Hostname \"host\"\nFQDNLookup false\nInterval 1\nWriteThreads 1\nBaseDir \"{shown}\"\n\
             PIDFile \"{shown}/collectd.pid\"\nPluginDir \"{plugins}\"\nTypesDB \"{types}\"\n\
             LoadPlugin unixsock\n<Plugin unixsock>\nSocketFile \"{shown}/values\"\n</Plugin>\n\
             LoadPlugin rrdcached\n<Plugin rrdcached>\nDaemonAddress \"unix:{shown}/socket\"\n\
             DataDir \"{shown}/rrd\"\nCreateFiles true\nCollectStatistics false\n</Plugin>\n"
        );
        std::fs::write(side.path("collectd.conf"), configuration).unwrap();
        let mut command = side.command(&program.display().to_string());
        command.args(["-f", "-C", "collectd.conf"]).stdout(Stdio::null()).stderr(Stdio::null());
        let _collectd = Running::start(&mut command);
        let stream =
            wait_for("collectd's socket", || UnixStream::connect(side.path("values")).ok());
        let mut answers = BufReader::new(stream.try_clone().unwrap());
        let mut values = &stream;
        for second in 1..=HOUR {
            let time = START + second;
            let line = format!(
                "PUTVAL host/test/if_octets-x interval=1 {time}:{}:{}\n",
                second * 7,
                second
            );
            values.write_all(line.as_bytes()).unwrap();
            let mut answer = String::new();
            answers.read_line(&mut answer).unwrap();
            assert!(answer.starts_with("0 "), "{answer}");
        }
        // Threads of collectd send them.
        let file = "rrd/host/test/if_octets-x.rrd";
        let all = format!("{HOUR} updates pending");
        let pending = wait_for("all readings", || {
            Some(side.ask(&format!("PENDING {file}"))).filter(|lines| lines[0] == all)
        });
        let pending = pending.join("\n");
        let flushed = side.ask(&format!("FLUSH {file}"));
        assert_eq!(flushed.len(), 1, "{flushed:?}");
        format!("{pending}\n{}", side.dump(file))
    });
    assert!(theirs.contains(&format!("<lastupdate>{}", START + HOUR)), "{theirs:.3000}");
    assert_same(&theirs, &ours);
}
