//! `env_parallel` and `parset`, as `whit run --env-parallel` prints them, beside parallel's own: jobs
//! know what the shell knows, and variables get what jobs write.

use std::path::Path;
use std::process::Command;

use crate::WHIT;
use crate::beside_parallel::{has_parallel, run};

/// What the jobs of bash are to know, and the lines that use it.
const BASH: &str = r#"
shopt -s expand_aliases
alias myecho='echo al'
v="it's \"q\" \$x
nl"
arr=(one "two  2" three)
declare -A ass=(["k y"]="v'al" [b]=c)
f() { echo "F $1 $v ${arr[1]} ${ass[k y]}"; }
env_parallel -k f ::: 1 2
env_parallel myecho ::: w
env_parallel -k echo '${arr[{}]}' ::: 0 1 2
env_parallel --env v -k 'echo "$v"; type -t f' ::: 1
env_parallel --env f --env arr,ass -k f ::: 1
env_parallel -k --env v echo --env {} ::: 1
parset a -k echo ::: 4 5 '6  x'; declare -p a
parset "x y,z" ::: "seq 3" "echo q" "printf 'a\n\n'"; declare -p x y z
declare -A h; parset h seq ::: 2 3 ::: 4; echo "${h[2 4]}/${h[3 4]}"
env_parset b f ::: 7 8; declare -p b
parset c 'echo {}; exit {}' ::: 0 3 1; echo $?; declare -p c
env_parallel --session
new=1; env_parallel 'echo [$new] [$v]' ::: 1
env_parallel --end-session
env_parallel 'echo [$new] [$x]' ::: 1
"#;

const DASH: &str = r#"
alias myecho='echo al'
alias multi='echo m
echo l'
v="it's \"q\" \$x
nl=5 'x'"
env_parallel myecho ::: w
env_parallel multi ::: 1
env_parallel -k 'echo "$v" {}' ::: 1 2
env_parallel -k --env v 'echo "$v"; myecho 2>/dev/null' ::: 1
env_parallel -k --env v echo --env {} ::: 1
parset "x y,z" ::: "seq 3" "echo q" "printf 'a\n\n'"; echo "$x|$y|$z|"
env_parset a,b 'echo "$v" {}; exit {}' ::: 0 3; echo $? "$a" "$b"
env_parallel --session
new=1; env_parallel 'echo [$new] [$v]' ::: 1
env_parallel --end-session
env_parallel 'echo [$new] [$x]' ::: 1
"#;

/// What a shell writes whose functions `loading` defines.
fn written(shell: &str, loading: &str, script: &str, folder: &Path) -> String {
    let bin = Path::new(WHIT).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(shell);
    // Jobs are of the shell that knows these things.
    command.args(["-c", &format!("unset PARALLEL_SHELL\n{loading}\n{script}")]);
    command.env("PATH", format!("{}:{path}", bin.display())).env("PARALLEL_HOME", folder);
    let output = run(command, folder, b"");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn jobs_of_bash_know_what_the_shell_knows() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("will-cite"), "").unwrap();
    let ours = written("bash", ". <(whit run --env-parallel bash)", BASH, folder.path());
    assert!(ours.starts_with("F 1 it's \"q\" $x\nnl two  2 v'al\n"), "{ours}");
    assert!(ours.ends_with("[1] [] 1\n[1] [1 2 3] 1\n"), "{ours}");
    if has_parallel() {
        let theirs = written("bash", ". env_parallel.bash", BASH, folder.path());
        assert_eq!(ours, theirs);
    }
}

#[test]
fn jobs_of_dash_know_what_the_shell_knows() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("will-cite"), "").unwrap();
    let ours = written("dash", "eval \"$(whit run --env-parallel sh)\"", DASH, folder.path());
    assert!(ours.starts_with("al w\nm\nl 1\nit's \"q\" $x\nnl=5 'x' 1\n"), "{ours}");
    if has_parallel() {
        let theirs = written("dash", ". env_parallel.dash", DASH, folder.path());
        assert_eq!(ours, theirs);
    }
}

/// What the jobs of zsh, ksh93 and mksh are to know; arrays of zsh begin at 1.
const KORN: &str = r#"
alias myecho='echo al'
v="it's \"q\" \$x
nl"
arr=(one "two  2" three)
f() { echo "F $1 $v ${#arr[@]}"; }
env_parallel myecho ::: w
env_parallel -k f ::: 1 2
env_parallel -k --env arr 'echo "${arr[@]} [$v]" {}' ::: 1
env_parallel --env f 'f {}' ::: 1
parset "x y,z" ::: "seq 3" "echo q" "printf 'a\n\n'"; echo "$x|$y|$z|"
env_parset a,b 'echo "${#v}" {}; exit {}' ::: 0 3; echo $? "$a" "$b"
env_parallel --session
new=1; env_parallel 'echo "[$new] [$v]"' ::: 1
env_parallel --end-session
env_parallel 'echo "[$new] [${#v}]"' ::: 1
"#;

const KORN_WRITTEN: &str = r#"al w
F 1 it's "q" $x
nl 3
F 2 it's "q" $x
nl 3
one two  2 three [] 1
F 1  0
1
2
3|q|a
|
1 14 0 14 3
[1] [] 1
[1] [14] 1
"#;

#[test]
fn jobs_of_zsh_and_ksh_know_what_the_shell_knows() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, name) in [("zsh", "zsh"), ("ksh93", "ksh"), ("mksh", "ksh")] {
        if Command::new(shell).args(["-c", ":"]).output().is_err() {
            testkit::skip("zsh, ksh93 and mksh", &format!("{shell} is not installed"));
            continue;
        }
        let loading = format!("eval \"$(whit run --env-parallel {name})\"");
        let text = written(shell, &format!("{loading}\n"), KORN, folder.path());
        assert_eq!(text, KORN_WRITTEN, "{shell}");
    }
}

#[test]
fn what_a_command_line_cannot_hold_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "x=$(head -c 140000 /dev/zero | tr '\\0' x); env_parallel echo ::: 1 2>&1; echo $?";
    for (shell, loading) in [
        ("bash", ". <(whit run --env-parallel bash)"),
        ("dash", "eval \"$(whit run --env-parallel sh)\""),
    ] {
        let text = written(shell, loading, script, folder.path());
        assert!(text.contains("--session") && text.ends_with("\n255\n"), "{shell}: {text}");
    }
    let script =
        "parset a-b echo ::: 1 2>&1; parset '' echo ::: 1 2>&1; parset a,b echo ::: 1 2 3 2>&1";
    let text = written("bash", ". <(whit run --env-parallel bash)", script, folder.path());
    assert!(text.contains("a-b is no name") && text.contains("more jobs than"), "{text}");
}
