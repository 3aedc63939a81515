//! What a shell completes: `whit complete`, and bash with the script that packages have, on a terminal.

use std::path::Path;
use std::process::Command;

use crate::top::Session;
use crate::{WHIT, whit};

/// The answer for a command line up to the cursor.
fn complete(line: &str, home: &Path) -> Vec<String> {
    let mut command = whit();
    command.args(["complete", "--breaks", "=:", "--", line]).env("HOME", home);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// A folder with a recording of two samples.
fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut command = whit();
    command.args(["record", "-scC", "-i0.05", "-c2", "--quiet", "-f"]).arg(folder.path());
    assert!(command.output().unwrap().status.success());
    folder
}

#[test]
fn values_are_those_of_recordings_ssh_and_the_kernel() {
    let folder = recorded();
    let home = folder.path();
    std::fs::create_dir(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/config"), "Host web1 web2 $(x)\nHost db*\n").unwrap();
    let all = |line: &str| complete(&line.replace("DIR", &home.display().to_string()), home);
    assert_eq!(all("whit play DIR --fields cpu.sys"), ["cpu.system"]);
    // After what the shell takes as the end of a word, only the rest is wanted.
    assert_eq!(all("whit play DIR --fields=cpu.sys"), ["cpu.system"]);
    assert_eq!(all("whit play DIR --csv --fields cpu.user,cpu.id"), ["cpu.user,cpu.idle"]);
    assert_eq!(all("whit play DIR --fields 'cpu_core[0].sys"), ["cpu_core[0].system"]);
    assert_eq!(all("whit play DIR --fields cpu_core[0"), ["cpu_core[0]"]);
    // A recording has the sources that were recorded.
    assert_eq!(all("whit play DIR -s cp"), ["cpu", "cpu_core"]);
    assert_eq!(all("whit play DIR -s CPU_"), ["CPU_CORE"]);
    assert_eq!(all("whit play DIR --cpufilt 0,0"), ["0,0"]);
    assert_eq!(all("whit play DIR --heaviest swi"), ["switches"]);
    assert_eq!(all("whit record --fields memory.fre"), ["memory.free", "memory.freed"]);
    assert_eq!(all("whit record --netfilt l"), ["lo"]);
    assert_eq!(all("whit trace -e trace=open,cred"), Vec::<String>::new());
    assert_eq!(all("whit trace -e open,%cre"), ["open,%creds"]);
    assert_eq!(all("whit trace -f -e create_"), ["create_module"]);
    // Hosts of ssh, without patterns and without what a shell would run.
    assert_eq!(all("whit top --hosts "), ["web1", "web2"]);
    assert_eq!(all("whit run -S web1,w"), ["web1,web1", "web1,web2"]);
    assert_eq!(all("whit log query -l WARN"), ["WARNING "]);
    for line in
        ["whit ", "whit play ", "whit play --no-such ", "whit trace ls -e ", "whit run -j ", ""]
    {
        assert_eq!(all(line), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn loggers_and_words_are_those_of_a_store() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/log-store/version-1");
    let all = |line: &str| complete(&line.replace("DIR", &store.display().to_string()), &store);
    assert_eq!(all("whit log query DIR -g fl"), ["flood "]);
    assert_eq!(all("whit log query DIR --host ben"), ["bench "]);
    assert_eq!(all("whit log query DIR -p fl"), ["flood "]);
    assert_eq!(all("whit log query DIR -t cal"), ["call "]);
    assert!(all("whit log query DIR -w ").is_empty(), "all words are no help");
}

#[test]
fn bash_completes_values_and_options() {
    let folder = recorded();
    let mut made = whit();
    made.args(["generate", "completions", "--to"]).arg(folder.path());
    assert!(made.output().unwrap().status.success());
    std::os::unix::fs::symlink(WHIT, folder.path().join("whit")).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("setsid");
    bash.args(["--ctty", "bash", "--norc", "--noprofile", "-i"]).current_dir(folder.path());
    bash.env("PATH", path).env("PS1", "ready ").env("HISTFILE", "").env("INPUTRC", "/dev/null");
    let mut session = Session::of(bash);
    session.until("ready ");
    // Commands one by one: what is typed while the shell is busy is drawn as a change of its line.
    let done = |session: &mut Session, command: &str| {
        session.seen.clear();
        session.type_in(&format!("\x15{command} echo all-'done'\r"));
        session.until("all-done\r\n");
        let at = session.seen.find("all-done\r\n").unwrap();
        session.seen.drain(..at);
        session.until("ready ");
    };
    done(&mut session, "source whit.bash;");
    for (typed, completed) in [
        ("whit play . --fields cpu.sys\t", "--fields cpu.system"),
        ("whit play . --fields=cpu.sys\t", "--fields=cpu.system"),
        ("whit play . --fields cpu_core[0\t", "\\[0\\]"),
        ("whit play . --fields 'cpu_core[0].sys\t", "--fields 'cpu_core[0].system"),
        // What has no values goes on as before.
        ("whit play . --showcolh\t", "--showcolheaders"),
        ("whit log que\t", "log query"),
        ("whit rrd lastu\t", "rrd lastupdate"),
    ] {
        session.seen.clear();
        session.type_in(typed);
        session.until(completed);
        // The line is given up.
        done(&mut session, "");
    }
    session.type_in("exit\r");
}
