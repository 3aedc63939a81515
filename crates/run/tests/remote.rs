//! Jobs on another host, which is a folder here: `ssh` is a script that logs how it was called and
//! runs the command in that folder, as sshd would.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use run::remote::files::FilePath;
use run::remote::{Connection, HostAddress, Job, Login, RemoteStdin, Ssh, Workdir};
use tempfile::TempDir;
use testkit::{wait_for, wait_until};

/// A folder for here, one for the host, and an ssh that leads from one to the other.
struct World {
    folder: TempDir,
    connection: Connection,
    ssh: Ssh,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["here", "there"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let program = folder.path().join("ssh");
        // The last word is the command; the host has a session of its own, and its standard input
        // ends when the ssh here does.
        let script = format!(
            "#!/bin/bash\nprintf '<%s>' \"${{@:1:$#-1}}\" >> {0}/log; echo >> {0}/log\n\
             cd {0}/there\nexport HOME=$PWD SHELL=/bin/bash\n\
             cat | {{ setsid -w \"${{LOGIN_SHELL-sh}}\" -c \"${{@: -1}}\"; code=$?; \
             : > over; exit $code; }}\nexit ${{PIPESTATUS[1]}}\n",
            folder.path().display()
        );
        testkit::write_program(&program, script).expect("a script");
        let program = vec![program.into_os_string().into_encoded_bytes()];
        let login = Login::parse("me@host:2222").expect("a login");
        let HostAddress::Remote(ssh) = login.address else { panic!("a host") };
        World { folder, connection: Connection { program, control: None }, ssh }
    }

    fn here(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("here").join(name)
    }

    fn there(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("there").join(name)
    }

    fn command(&self, words: &[Vec<u8>]) -> Command {
        let words: Vec<String> =
            words.iter().map(|word| String::from_utf8(word.clone()).expect("UTF-8")).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.folder.path().join("here"));
        command
    }

    fn run(&self, job: &Job) -> Output {
        let mut command = self.command(&job.words(&self.connection, &self.ssh));
        command.stdin(Stdio::null()).output().expect("ssh")
    }
}

/// A job of this command and nothing else.
fn job(command: &str) -> Job<'_> {
    Job {
        command: command.as_bytes(),
        workdir: &Workdir::Login,
        environment: &[],
        stdin: RemoteStdin::Nothing,
        send: &[],
        bring: &[],
        cleanup: false,
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn paths(names: &[&str]) -> Vec<FilePath> {
    names.iter().map(|name| FilePath::parse(name.as_bytes()).expect("a path")).collect()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

#[test]
fn a_command_arrives_as_it_was_and_its_exit_code_comes_back() {
    let world = World::new();
    let hard = "printf '%s|' 'a b' \"c'd\" '$x `y` \\ ! *' '' 'l1\nl2'; exit 37";
    let output = world.run(&job(hard));
    assert_eq!(text(&output), "a b|c'd|$x `y` \\ ! *||l1\nl2|");
    assert_eq!(output.status.code(), Some(37));
    let log = fs::read_to_string(world.folder.path().join("log")).expect("a log");
    assert_eq!(log, "<-p><2222><-l><me><host><-->\n");
}

#[test]
fn folder_environment_and_functions_are_set_there() {
    let world = World::new();
    let environment = [
        (b"PLAIN".to_vec(), b"it's \"one\"\n$two".to_vec()),
        (b"BASH_FUNC_greet%%".to_vec(), b"() {  echo hello $1\n}".to_vec()),
    ];
    let folder = Workdir::Folder(b"deep/er folder".to_vec());
    let command = "pwd; printf '%s\n' \"$PLAIN\"; greet world";
    let output = world.run(&Job { workdir: &folder, environment: &environment, ..job(command) });
    let pwd = world.there("deep/er folder");
    assert_eq!(text(&output), format!("{}\nit's \"one\"\n$two\nhello world\n", pwd.display()));
    write(&world.there("file"), "");
    let folder = Workdir::Folder(b"file".to_vec());
    let refused = world.run(&Job { workdir: &folder, ..job("echo never") });
    assert_eq!((refused.status.code(), text(&refused).as_str()), (Some(255), ""));
}

#[test]
fn any_login_shell_of_bournes_line_will_do() {
    let world = World::new();
    for shell in ["sh", "bash", "dash"] {
        if Command::new(shell).args(["-c", ":"]).status().is_err() {
            continue;
        }
        let words = job("echo 'it'\"'\"'s' $((6*7))").words(&world.connection, &world.ssh);
        let output = world.command(&words).env("LOGIN_SHELL", shell).stdin(Stdio::null()).output();
        assert_eq!(text(&output.expect("ssh")), "it's 42\n", "{shell}");
    }
}

#[test]
fn files_go_where_rsync_would_put_them() {
    let world = World::new();
    write(&world.here("plain"), "1");
    write(&world.here("in side/-x"), "2");
    write(&world.here("base/below/file"), "3");
    let absolute = world.folder.path().join("absolute");
    write(&absolute, "4");
    fs::set_permissions(world.here("plain"), fs::Permissions::from_mode(0o750)).expect("a mode");
    let absolute = absolute.to_str().expect("UTF-8");
    let send = paths(&["plain", "in side/-x", "base/./below/file", absolute]);
    let folder = Workdir::Folder(b"work".to_vec());
    let command = format!("cat plain 'in side/-x' below/file {absolute}; test -x plain");
    let output = world.run(&Job { send: &send, workdir: &folder, ..job(&command) });
    assert_eq!(text(&output), "1234");
    assert_eq!(output.status.code(), Some(0));
    assert!(world.there("work/below/file").exists());
    let missing = paths(&["plain", "nowhere"]);
    let failed = world.run(&Job { send: &missing, ..job("echo never") });
    assert_ne!(failed.status.code(), Some(0), "what could not be sent is a failure");
    assert_eq!(text(&failed), "");
}

#[test]
fn files_are_brought_back_and_removed() {
    let world = World::new();
    write(&world.here("a/in"), "input");
    write(&world.there("work/a/kept/other"), "kept");
    let send = paths(&["a/in"]);
    let bring = paths(&["a/in.out", "results/./b/c/second"]);
    let folder = Workdir::Folder(b"work".to_vec());
    let command = "mkdir -p b/c; cat a/in > a/in.out; echo two > b/c/second; echo done; exit 3";
    let full = Job { send: &send, bring: &bring, workdir: &folder, cleanup: true, ..job(command) };
    let output = world.run(&full);
    assert_eq!((output.status.code(), text(&output).as_str()), (Some(3), "done\n"));
    assert_eq!(fs::read_to_string(world.here("a/in.out")).ok().as_deref(), Some("input"));
    assert_eq!(fs::read_to_string(world.here("results/b/c/second")).ok().as_deref(), Some("two\n"));
    assert!(!world.there("work/a/in").exists());
    assert!(!world.there("work/b").exists(), "folders that are empty now are removed");
    assert!(world.there("work/a/kept/other").exists());
}

#[test]
fn a_file_that_does_not_come_back_is_a_failure() {
    let world = World::new();
    let bring = paths(&["nothing"]);
    let code = |command| world.run(&Job { bring: &bring, ..job(command) }).status.code();
    assert_eq!(code("true"), Some(1));
    assert_eq!(code("exit 9"), Some(9));
}

#[test]
fn a_folder_of_its_own_is_made_and_removed() {
    let world = World::new();
    let own = Workdir::parse(b"...", b"/x", b"/y", b"host-1-2");
    let output = world.run(&Job { workdir: &own, cleanup: true, ..job("pwd; touch left") });
    let folder = world.there(".parallel/tmp/host-1-2");
    assert_eq!(text(&output), format!("{}\n", folder.display()));
    assert!(!folder.exists());
    world.run(&Job { workdir: &own, ..job("touch left") });
    assert!(folder.join("left").exists());
}

#[test]
fn a_dot_is_the_folder_here_below_the_home_folder() {
    let folder = |current: &str, home: &str| match Workdir::parse(
        b".",
        current.as_bytes(),
        home.as_bytes(),
        b"",
    ) {
        Workdir::Folder(folder) => String::from_utf8(folder).expect("UTF-8"),
        other => panic!("{other:?}"),
    };
    assert_eq!(folder("/home/me/work", "/home/me"), "work");
    assert_eq!(folder("/home/me", "/home/me"), ".");
    assert_eq!(folder("/home/mean", "/home/me"), "/home/mean");
    assert_eq!(folder("/tmp", ""), "/tmp");
    assert_eq!(Workdir::parse(b"", b"/", b"/", b""), Workdir::Login);
}

#[test]
fn standard_input_is_the_jobs_alone() {
    let world = World::new();
    write(&world.here("file"), "sent");
    let send = paths(&["file"]);
    let data = Job { send: &send, stdin: RemoteStdin::Data, ..job("cat file -") };
    let mut child = world
        .command(&data.words(&world.connection, &world.ssh))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ssh");
    child.stdin.take().expect("a pipe").write_all(b" and piped").expect("written");
    assert_eq!(text(&child.wait_with_output().expect("ended")), "sent and piped");
}

#[test]
fn a_tied_job_ends_by_itself_with_its_code() {
    let world = World::new();
    let tied = Job { stdin: RemoteStdin::Alive, ..job("echo output; exit 5") };
    let mut child = world
        .command(&tied.words(&world.connection, &world.ssh))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ssh");
    // The pipe is held until the host's side is over; only the fake ssh's `cat` waits for its end.
    let held = child.stdin.take();
    wait_until("the job ends while its pipe is held", || world.there("over").exists());
    drop(held);
    let output = child.wait_with_output().expect("ended");
    assert_eq!((output.status.code(), text(&output).as_str()), (Some(5), "output\n"));
}

#[test]
fn a_tied_job_ends_with_its_connection() {
    let world = World::new();
    for stubborn in ["", "trap '' TERM; "] {
        let command = format!("{stubborn}echo $$ > pid; sleep 300 & wait; sleep 300");
        let tied = Job { stdin: RemoteStdin::Alive, ..job(&command) };
        let mut child = world
            .command(&tied.words(&world.connection, &world.ssh))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("ssh");
        let file = world.there("pid");
        let pid = wait_for("the job says who it is", || {
            fs::read_to_string(&file).ok().filter(|text| text.ends_with('\n'))
        });
        fs::remove_file(&file).expect("removed");
        // SAFETY: kill takes two numbers; the group is that of a child not waited for yet.
        unsafe { libc::kill(-child.id().cast_signed(), libc::SIGKILL) };
        child.wait().expect("ended");
        let process = Path::new("/proc").join(pid.trim());
        wait_until("the job ends with its connection", || !process.exists());
    }
}
