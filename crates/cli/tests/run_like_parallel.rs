//! `whit run` beside the installed `parallel`: options and templates whose meaning is parallel's.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

use testkit::Running;

use crate::WHIT;
use crate::beside_parallel::{has_parallel, lines, ours, run, same, start, theirs};

/// A folder for one test.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The files below a folder, without their contents.
fn files(folder: &Path) -> Vec<String> {
    let output = Command::new("find").arg(".").current_dir(folder).output().expect("find");
    let text = String::from_utf8(output.stdout).expect("names");
    let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn one_term_ends_the_jobs_and_the_runner() {
    let folder = folder();
    let words =
        ["-j2", "trap 'echo {} >> ended; exit' TERM; touch begun.{}; sleep 1000 & wait", ":::"];
    let child = start(&[&words[..], &["1", "2", "3"]].concat(), folder.path(), b"");
    let mut child = Running::from(child);
    testkit::wait_until("two jobs have begun", || {
        ["begun.1", "begun.2"].iter().all(|name| folder.path().join(name).exists())
    });
    // One is enough: jobs that did not get it would sleep longer than anybody waits.
    child.signal(libc::SIGTERM);
    assert_eq!(child.ended().signal(), Some(libc::SIGTERM));
    let mut ended: Vec<String> = fs::read_to_string(folder.path().join("ended"))
        .expect("jobs have got the signal")
        .lines()
        .map(str::to_owned)
        .collect();
    ended.sort();
    assert_eq!(ended, ["1", "2"], "both jobs have got TERM, and the third has not begun");
}

#[test]
fn blocks_without_a_command_are_an_error() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    fs::write(folder.path().join("in"), "1\n2\n").expect("a file");
    for words in [&["--pipe"][..], &["--pipe-part", "-a", "in"], &["--pipe", "--dry-run"]] {
        same(words, folder.path(), &lines(3));
        let output = ours(words, folder.path(), &lines(3));
        assert!(String::from_utf8_lossy(&output.stderr).contains("need a command"), "{words:?}");
    }
    same(&["--pipe", "--tee", "-k", ":::", "wc", "cat"], folder.path(), &lines(3));
}

#[test]
fn expressions_of_jobs_without_values_run_once() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    for words in [
        &["-N0", "-k", "echo 'a{= $_ = 5 =}b{#}'"][..],
        &["-N0", "-X", "-k", "echo 'a{= $_ = 5 =}b'"],
        &["-N0", "-k", "--tagstring", "{= $_ = 5 =}-", "echo"],
        &["--nonall", "-S", ":", "echo 'a{= $_ = 5 =}b'"],
    ] {
        same(words, folder.path(), &lines(2));
    }
    let results = ["-N0", "-j1", "--results", "kept{= $_ = 1 + 1 =}/", "echo {#}"];
    same(&results, folder.path(), &lines(2));
    let kept = fs::read_to_string(folder.path().join("kept2/stdout")).expect("the results");
    assert_eq!(kept, "2\n", "of the last job");
}

#[test]
fn a_header_that_ends_with_cr_names_its_last_column() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    let text = b"a,b\r\n1,2\r\n3,4\r\n";
    same(&["-k", "--header", ":", "--colsep", ",", "echo {b} {a}"], folder.path(), text);
    same(&["-k", "--header", ":", "echo {a} {1}"], folder.path(), b"a\r\n1\r\n");
}

#[test]
fn replacements_at_the_beginning_and_the_end_are_those_of_parallel() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    let strings = "echo {/#abc/X} {/%def/Y} {/#abc/} {/%def/} {/#bcd/X} {/%cde/Y} {//c/Z} {/c/Z}";
    for text in ["abcdef\n", "abcabc\n", "defdef\n", "x/abc.def\n", "\n", "cc\n"] {
        same(&["--plus", strings], folder.path(), text.as_bytes());
    }
    same(&["--plus", "echo {/#a|b/X} {/%a|b/X} {/#[a-c]+/X} {/%f+/Y}"], folder.path(), b"abcf\n");
    same(&["--plus", "echo {2/#a/X} {1/%b/Y}", ":::", "aab", ":::", "aba"], folder.path(), b"");
}

#[test]
fn verbose_writes_to_standard_error_and_v_to_standard_output() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    for option in ["--verbose", "-t", "-v"] {
        let words = ["-j1", option, "echo", ":::", "a", "b"];
        let (ours, theirs) = (ours(&words, folder.path(), b""), theirs(&words, folder.path(), b""));
        assert_eq!((ours.stdout, ours.stderr), (theirs.stdout, theirs.stderr), "{option}");
    }
}

#[test]
fn folders_of_results_are_ordered_by_the_names_of_the_header() {
    if !has_parallel() {
        return;
    }
    for names in [["b", "a"], ["2x", "11"], ["-1", "1"], ["a", "10"], ["9", "1e1"]] {
        let (of_ours, of_theirs) = (folder(), folder());
        let words = [
            "--header",
            ":",
            "--results",
            "out",
            "echo",
            ":::",
            names[0],
            "1",
            ":::",
            names[1],
            "2",
        ];
        ours(&words, of_ours.path(), b"");
        theirs(&words, of_theirs.path(), b"");
        let found = files(&of_theirs.path().join("out"));
        assert!(found.iter().any(|name| name.ends_with("/stdout")), "{found:?}");
        assert_eq!(files(&of_ours.path().join("out")), found, "{names:?}");
    }
}

#[test]
fn counts_have_units_and_attempts_depend_on_the_job() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    for words in [
        &["-k", "-N", "0.002k", "echo"][..],
        &["-k", "-n", "2.5", "echo"],
        &["-k", "-L", "-0", "echo"],
        &["-k", "-l", "1.5", "echo"],
        &["-k", "--retries", "{}", "echo {}; false", ":::", "1", "2", "3"],
        &["-k", "-N2", "--retries", "{2}", "echo {1}; false", ":::", "1", "2", "3", "4"],
        &["-k", "--pipe", "-N", "0.005k", "wc"],
        &["-k", "--pipe", "--skip-first-line", "wc"],
        &["-k", "--pipe", "--skip-first-line", "--header", ":", "--block", "9", "cat"],
    ] {
        same(words, folder.path(), &lines(12));
    }
    fs::write(folder.path().join("in"), lines(100)).expect("a file");
    for words in [
        &["-k", "-j2", "--block", "-0.002k", "head -1"][..],
        &["-k", "--block", "50", "--skip-first-line", "--header", ":", "cat"],
        &["-k", "--block", "50", "echo {}x", ":::", "a", "b"],
    ] {
        same(&[&["--pipe-part", "-a", "in"], words].concat(), folder.path(), b"");
    }
    let output = ours(&["--retries", "{}", "false", ":::", "x"], folder.path(), b"");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--retries of job 1: \"x\""));
}

#[test]
fn jobs_that_have_results_are_left_out_without_a_joblog() {
    if !has_parallel() {
        return;
    }
    let first = ["--results", "out", "--resume", "echo", ":::", "1", "2"];
    let job = "echo {} >>ran; echo {}";
    let second = ["--results", "out", "--resume", "-j1", job, ":::", "2", "3", "1"];
    let run = |runs: fn(&[&str], &Path, &[u8]) -> std::process::Output| {
        let folder = folder();
        for words in [&first[..], &second] {
            assert!(runs(words, folder.path(), b"").status.success());
        }
        let ran = fs::read_to_string(folder.path().join("ran")).expect("a job has run");
        (ran, files(&folder.path().join("out")))
    };
    let of_ours = run(ours);
    assert_eq!(of_ours.0, "3\n");
    assert_eq!(of_ours, run(theirs));
    let output =
        ours(&["--results", "x.csv", "--resume", "echo", ":::", "1"], folder().path(), b"");
    assert!(String::from_utf8_lossy(&output.stderr).contains("give --joblog"));
}

#[test]
fn expressions_beyond_our_own_language_are_run_by_perl() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    for expression in [
        r#"$_ = join ".", map { $_ . "x" } sort split //, $_"#,
        r#"chop; $_ = -e "/$_" ? "yes" : -d "/" ? "dir" : "no""#,
        r#"for my $i (1..3) { $_ .= $i }"#,
        r#"my %h = (ab => 1, "c d" => 2); $_ = $h{$_}"#,
        r#"$_ = pQ('a"b$c') . hash($_) % 1"#,
        r#"$_ = join " ", map { Q($_) } @arg[1, 2]; uq()"#,
        r#"my @x = split / /; $_ eq "q" and skip(); $_ = @x . seq() . total_jobs()"#,
        r#"s/(\w)\1/<$1>/; s/b(?=c)/B/; $_ .= $Global::max_jobs_running"#,
    ] {
        let command = format!("echo {{={expression}=}}").replace("{=", "{= ").replace("=}", " =}");
        let words = ["-k", "-j2", &command, ":::", "ab", "c d", "q", "it's", "abbc", ""];
        same(&words, folder.path(), b"");
    }
    let rpl = r#"{x(.)} my @a = split /$$1/; $_ = "@a""#;
    same(&["-k", "--rpl", rpl, "echo {x,} {x-}", ":::", "a,b-c"], folder.path(), b"");
    same(
        &["-k", "-X", r#"echo {= $_ = join "", map { uc } split // =}"#],
        folder.path(),
        &lines(9),
    );
}

#[test]
fn variables_of_expressions_keep_their_values_from_job_to_job() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    for command in [
        "echo {= $_ = ++$n =} {= $_ = ++$n =}",
        "echo {} {= $_ = $n . $_; $n = $_ =}",
        "echo {= $seen{$_}++ and skip() =}{}",
        "echo {= s/^(.)/\\U$1\\E!/ =} {= s/(a)/\\1\\1/ =} {= $_ = \"\\101\\x41\" =}",
    ] {
        // Parallel shows the jobs that are left out.
        let shown = if command.contains("skip()") { "-k" } else { "-v" };
        for first in [&["-k"][..], &["-k", shown], &["-j1"]] {
            same(&[first, &[command, ":::", "a", "a", "b", "a"]].concat(), folder.path(), b"");
        }
    }
    let tag = ["-k", "--tagstring", "\\t{}\\101\\033\\\\x", "echo", ":::", "a", "b"];
    same(&tag, folder.path(), b"");
}

#[test]
fn parts_of_several_files_have_one_size_and_logged_lines_run_as_they_are() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    fs::write(folder.path().join("long"), lines(40)).expect("a file");
    fs::write(folder.path().join("short"), lines(4)).expect("a file");
    for block in [&[][..], &["--block", "-2"], &["--block", "20"]] {
        let words = ["-j1", "--pipe-part", "-a", "long", "-a", "short"];
        same(&[&words[..], block, &["cat; echo {#}"]].concat(), folder.path(), b"");
    }
    for pattern in ["{00#}", "{##*/}", "{%%b|c}", "{%a|r}", "{#.*/}"] {
        same(&["-k", "--plus", "echo", pattern, ":::", "a/b/b.tar", "c"], folder.path(), b"");
    }
    let words = ["-j1", "--joblog", "log", "echo {}; exit {}", ":::", "0", "1"];
    same(&words, folder.path(), b"");
    // The command is not what runs.
    same(&["-j1", "--joblog", "log", "--retry-failed", "true"], folder.path(), b"");
}

#[test]
fn one_perl_process_runs_the_expressions_of_all_jobs() {
    let Ok(perl) = Command::new("sh").args(["-c", "command -v perl"]).output() else { return };
    let perl = String::from_utf8(perl.stdout).expect("a path");
    if perl.is_empty() {
        testkit::skip("Perl", "not installed");
        return;
    }
    let folder = folder();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).expect("a folder");
    let count = folder.path().join("starts");
    let wrapper = format!("#!/bin/sh\necho >>{}\nexec {} \"$@\"\n", count.display(), perl.trim());
    testkit::write_program(&bin.join("perl"), &wrapper).expect("a program");
    let told = |words: &[&str]| {
        let mut command = Command::new(WHIT);
        command.args(["run", "-k", "-j4"]).args(words).args([":::", "b", "a"]);
        let path = format!("{}:/usr/bin:/bin", bin.display());
        command.env("PATH", path);
        let output = run(command, folder.path(), b"");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let starts = || fs::read_to_string(&count).unwrap_or_default().lines().count();
    let (out, _) = told(&["echo {= $_ .= join 1, sort(3, 2) =} {= my @x = (1); $_ .= $x[0] =}"]);
    assert_eq!((out.as_str(), starts()), ("b213 b1\na213 a1\n", 1));
    // What our own language can do needs no Perl.
    let (out, _) = told(&["echo {= $_ = uc($_) . length($_) =}"]);
    assert_eq!((out.as_str(), starts()), ("B1\nA1\n", 1));
    let (_, error) = told(&["--no-perl", "echo {= my @x =}"]);
    assert!(error.contains("in the expression {= my @x =}") && starts() == 1, "{error}");
    for (expression, part) in [
        ("{= my @x; exit =}", "job 1: an expression has ended Perl"),
        ("{= my @x; die qq(no\\n) =}", "job 1: an expression fails in Perl: no"),
        ("{= my @x; $_ = q(x) x 2e6 =}", "makes a text longer than any argument can be"),
        ("{= my @x = ( =}", "fails in Perl: syntax error"),
        ("{= my @x = $Global::JobQueue =}", "variables of parallel's own program"),
    ] {
        let (_, error) = told(&[&format!("echo {expression}")]);
        assert!(error.contains(part), "{expression}: {error}");
    }
    fs::remove_file(bin.join("perl")).expect("the wrapper");
}

#[test]
fn each_job_has_an_empty_folder_of_its_own() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    let job = "ls; touch x{}; ls; echo ${PWD%/*}; echo ${PWD##*-}";
    same(&["-j1", "--wd", "...", job, ":::", "1", "2"], folder.path(), b"");
    let output = ours(&["-j2", "--wd", "...", "touch x; pwd", ":::", "1", "2"], folder.path(), b"");
    for path in String::from_utf8_lossy(&output.stdout).lines() {
        assert!(path.contains("/.parallel/tmp/") && !Path::new(path).exists(), "{path}");
    }
}

#[test]
fn the_number_of_l_may_be_left_out() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    for words in [
        &["-k", "-l", "echo"][..],
        &["-k", "-l", "2", "echo"],
        &["-kl", "echo"],
        &["-k", "-l", "ls", "-l", "{}"],
        &["-k", "--max-lines", "echo", "-n"],
        &["-k", "-j", "2", "-l", "-r", "echo"],
    ] {
        same(words, folder.path(), b"a\nb \nc\nd\n");
    }
}

#[test]
fn nice_is_the_nice_value_of_the_jobs() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    for value in ["7", "12", "0"] {
        let nicer = |program: &[&str]| {
            let mut command = Command::new("nice");
            command.args(["-n", "5"]).args(program);
            command.args(["--nice", value, "nice; :", ":::", "1"]);
            String::from_utf8(run(command, folder.path(), b"").stdout).expect("a number")
        };
        let of_ours = nicer(&[WHIT, "run"]);
        assert_eq!(of_ours, nicer(&["parallel", "--will-cite"]), "--nice {value}");
    }
}

#[test]
fn a_dry_run_leaves_no_file() {
    let folder = folder();
    for option in ["--files", "--files0"] {
        let words = [option, "--dry-run", "--tmpdir", ".", "echo", ":::", "1", "2"];
        let output = ours(&words, folder.path(), b"");
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&output.stdout).contains("par"), "names are printed");
        assert_eq!(files(folder.path()), ["."], "{option}");
    }
}

#[test]
fn compressed_output_is_that_of_parallel() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    let moved = ["--compress-program", "tr a-y b-z", "--decompress-program", "tr b-z a-y"];
    let job = "echo {}; echo error of {} >&2; seq 30000 | tail -n {}";
    for options in [&["--compress"][..], &["--compress-program", "gzip -2"], &moved] {
        same(&[&["-k"], options, &[job]].concat(), folder.path(), &lines(4));
        same(&[options, &["-j1", "--tag", job]].concat(), folder.path(), &lines(2));
        // Parallel itself does not end with -u.
        let output = ours(&[options, &["-u", "-j1", "echo"]].concat(), folder.path(), &lines(2));
        assert_eq!(output.stdout, lines(2), "{options:?}");
    }
}

#[test]
fn a_newline_after_a_position_is_blank() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    for command in ["echo {1\n}", "echo {1 \n\t}{1\n/}x", "echo {\n1}", "echo {1\u{b}.}"] {
        same(&["-k", command], folder.path(), b"a/b.c\nd e\n");
    }
    same(&["-k", "--header", ":", "echo {n\n}"], folder.path(), b"n\n1\n");
}

#[test]
fn retry_failed_without_an_earlier_run_runs_all_jobs() {
    if !has_parallel() {
        return;
    }
    let words = ["-k", "--retry-failed", "--joblog", "log", "echo"];
    let new = || folder();
    // No joblog.
    let (of_ours, of_theirs) = (new(), new());
    let expected = theirs(&words, of_theirs.path(), b"1\n2\n");
    let done = ours(&words, of_ours.path(), b"1\n2\n");
    assert_eq!((done.stdout, done.status.code()), (expected.stdout, expected.status.code()));
    let header = |folder: &Path| {
        let text = fs::read_to_string(folder.join("log")).expect("a joblog");
        text.lines().next().map(str::to_owned)
    };
    assert_eq!(header(of_ours.path()), header(of_theirs.path()));
    // All have succeeded: nothing to run.
    assert_eq!(ours(&words, of_ours.path(), b"1\n2\n").stdout, b"");
    // An empty joblog: parallel takes the values for commands.
    fs::write(of_ours.path().join("log"), "").expect("a file");
    assert_eq!(ours(&words, of_ours.path(), b"1\n2\n").stdout, b"1\n2\n");
    assert_eq!(header(of_ours.path()), header(of_theirs.path()));
    // With --resume, too, a new joblog has a header.
    fs::write(of_ours.path().join("log"), "").expect("a file");
    ours(&["--resume", "--joblog", "log", "echo"], of_ours.path(), b"1\n");
    assert_eq!(header(of_ours.path()), header(of_theirs.path()));
}

#[test]
fn a_replacement_string_without_expression_is_the_value() {
    if !has_parallel() {
        return;
    }
    for words in [&["echo", "%"][..], &["echo", "x%y", "{}"], &["echo"]] {
        let words = [&["-k", "--rpl", "%"], words, &[":::", "a b", "c"]].concat();
        same(&words, folder().path(), b"");
    }
}

#[test]
fn a_table_of_results_goes_to_standard_output_by_a_word_of_its_own() {
    if !has_parallel() {
        return;
    }
    // Times differ, and are the only columns with a point.
    let times = regex::bytes::Regex::new(r"[0-9]+\.[0-9]+").expect("a pattern");
    for table in ["-.csv", "-.tsv", "-.json"] {
        let words = ["-k", "--results", table, "echo", ":::", "a", "b c"];
        let folder = folder();
        let [ours, theirs] = [ours(&words, folder.path(), b""), theirs(&words, folder.path(), b"")]
            .map(|output| times.replace_all(&output.stdout, &b"T"[..]).into_owned());
        assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs), "{table}");
    }
}

#[test]
fn text_of_parallel_env_is_read_before_each_command() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    fs::write(folder.path().join("text"), "f() { echo of a file $1; }").expect("a file");
    let asked = |value: &str, program: &[&str], words: &[&str]| {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).args(words).env("PARALLEL_ENV", value);
        run(command, folder.path(), &lines(4))
    };
    let shown = "echo ${PARALLEL_ENV-none}";
    for (value, words) in [
        ("f() { echo f $1; }", &["-k", "f {}", ":::", "a b", "c"][..]),
        ("f() { echo f $1; }\u{1}g() { f g$1; }", &["-k", "g", ":::", "a"]),
        ("text", &["-k", "f {}", ":::", "a"]),
        ("A=5", &["-k", "echo $A {}", ":::", "a", "b"]),
        ("A=5", &["-k", "-X", "echo $A {}", ":::", "a", "b"]),
        ("A=5", &["-k", "--pipe", "-N2", "echo $A; cat"]),
        ("A=5", &["--dry-run", "echo $A {}", ":::", "a"]),
        ("exit 3", &["echo", ":::", "a"]),
        ("A=5", &[shown, ":::", "a"]),
        ("", &[shown, ":::", "a"]),
    ] {
        let theirs = asked(value, &["parallel", "--will-cite"], words);
        let ours = asked(value, &[WHIT, "run"], words);
        assert_eq!(ours.stdout, theirs.stdout, "{value:?} {words:?}: {ours:?}");
        assert_eq!(ours.status.code(), theirs.status.code(), "{value:?} {words:?}: {ours:?}");
    }
    // What cannot be read is told, and a packed command line leaves room for the text.
    for (value, words, told) in [
        ("/", &["echo", ":::", "a"][..], "PARALLEL_ENV: cannot read /: Is a directory"),
        (
            "/dev/zero",
            &["echo", ":::", "a"],
            "PARALLEL_ENV: a command line cannot hold a zero byte",
        ),
        ("A=5", &["--shell", "never", "echo", ":::", "a"], "the shell reads other text"),
        ("A=5", &["-S", "host", "echo", ":::", "a"], "-S cannot be used with PARALLEL_ENV"),
    ] {
        let ours = asked(value, &[WHIT, "run"], words);
        let said = String::from_utf8_lossy(&ours.stderr);
        assert!(said.contains(told) && ours.stdout.is_empty(), "{value:?}: {ours:?}");
    }
    let long = format!("A={}", "x".repeat(100_000));
    let ours = run(
        {
            let mut command = Command::new("sh");
            let line = format!("yes ab | head -n 50000 | {WHIT} run -j1 -X echo | wc -w");
            command.args(["-c", &line]).env("PARALLEL_ENV", long);
            command
        },
        folder.path(),
        b"",
    );
    assert_eq!(String::from_utf8_lossy(&ours.stdout).trim(), "50000", "{ours:?}");
}

#[test]
fn a_terminal_is_for_one_job_at_a_time() {
    if !has_parallel() {
        return;
    }
    for options in [&[][..], &["--tag"], &["-k"], &["--group", "--tag"], &["-j1", "-k", "--tag"]] {
        let words = [&["--tty"], options, &["echo {%} {}; cat"]].concat();
        same(&words, folder().path(), &lines(6));
    }
}

#[test]
fn blocks_are_for_one_job_at_a_time_on_a_terminal() {
    if !has_parallel() {
        return;
    }
    for options in [&["-N3"][..], &["-k"], &["--tag", "-N4"], &["-j1", "--group", "-N2"]] {
        let words = [&["--tty", "--pipe"], options, &["echo {#}; cat"]].concat();
        same(&words, folder().path(), &lines(6));
    }
}

#[test]
fn a_column_with_an_empty_name_is_the_value_without_a_name() {
    if !has_parallel() {
        return;
    }
    let folder = folder();
    let tables = ["a,,c\n1.x,2/y.z,3\n", ",b\n1/p.q,2\n", "a,\n1,2\n"];
    let commands = [
        "echo {} {a}",
        "echo {.} {/} {//} {/.}",
        "echo {1} {2/} {}",
        "echo",
        "echo {#} {= s/1/9/ =}",
    ];
    for table in tables {
        for command in commands {
            let words = ["-k", "--header", ":", "--colsep", ",", command];
            same(&words, folder.path(), table.as_bytes());
        }
    }
    // A source without columns has no column without a name.
    same(&["-k", "--header", ":", "echo {}", ":::", "", "3", ":::", "b", "5"], folder.path(), b"");
}

#[test]
fn jobs_have_the_terminal_when_values_come_through_a_pipe() {
    if !testkit::is_installed("script", "script") {
        return;
    }
    let line = format!("seq 3 | {WHIT} run --tty 'test -t 0 && echo a terminal {{}}'");
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]);
    let output = run(command, folder().path(), b"");
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert_eq!(text, "a terminal 1\na terminal 2\na terminal 3\n", "{output:?}");
}

#[test]
fn what_stands_before_the_first_record_is_a_block_of_its_own() {
    if !has_parallel() {
        return;
    }
    for records in ["-N1", "-N2", "-N3"] {
        for text in ["xaybzabwabv", "baybzabwabv", "aaab", "ab", "xyz"] {
            for more in [&[][..], &["--rrs"]] {
                let words = ["-k", "--pipe", "--regexp", records, "--recstart", "b"];
                let ends = ["--recend", "[a]", "echo --; cat"];
                same(&[&words[..], more, &ends].concat(), folder().path(), text.as_bytes());
            }
        }
    }
}

#[test]
fn what_an_ended_job_leaves_behind_has_the_rest_of_the_sequence() {
    // The first job ends by TERM at once.  Its child waits for that end before it tells.
    let script = r#"
        trap 'while kill -0 $PPID; do :; done 2>/dev/null; echo told >told; exit' TERM
        : >ready; while :; do sleep 0.05; done"#;
    let folder = folder();
    fs::write(folder.path().join("child"), script).expect("a file");
    let job = "if test {} = 1; then sh child; :; else until test -e ready; do sleep 0.05; done; \
               exit 3; fi";
    let sequence = ["--term-seq", "TERM,100000,KILL", "-j2", "--halt", "now,fail=1"];
    let output = ours(&[&sequence[..], &[job, ":::", "1", "2"]].concat(), folder.path(), b"");
    assert_eq!(fs::read(folder.path().join("told")).ok().as_deref(), Some(&b"told\n"[..]));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}
