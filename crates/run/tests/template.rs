//! Templates against the installed `parallel`: what it prints with `--dry-run` is what ours must
//! render.  Each start of it takes tenths of a second, so that one command line holds hundreds of
//! replacement strings.  Where it is not installed, these tests say so and pass.

use std::io::Write as _;
use std::process::{Command, Stdio};

use run::Record;
use run::quote::Shell;
use run::template::{Context, Packing, Syntax, Template, Values};

/// What `parallel` prints, or `None` where there is none.
fn theirs(arguments: &[&[u8]], input: &[u8]) -> Option<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt as _;
    let arguments = arguments.iter().map(|argument| std::ffi::OsStr::from_bytes(argument));
    let child = Command::new("parallel")
        .arg("--will-cite")
        .args(["-k", "--dry-run"])
        .args(arguments)
        .env("LC_ALL", "C")
        .env("PARALLEL_SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("skipped: parallel is not installed");
        return None;
    };
    child.stdin.take().unwrap().write_all(input).unwrap();
    Some(child.wait_with_output().unwrap().stdout)
}

/// The same by us: one job for each chunk of records.
fn ours(syntax: &Syntax, words: &[&[u8]], jobs: &[Vec<Record>], packing: Packing) -> Vec<u8> {
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
    let mut template = Template::parse(&words, syntax).unwrap();
    if !template.has_values() {
        template.append_value();
    }
    let mut out = Vec::new();
    for (index, records) in jobs.iter().enumerate() {
        let context = Context {
            seq: index as u64 + 1,
            slot: 1,
            slots: 1,
            total: Some(jobs.len() as u64),
            records,
            packing,
            local_time_s: 0,
        };
        let start = out.len();
        template.render(&context, Values::Quoted(Shell::Bourne), &mut out).unwrap();
        let length = template.rendered_len(&context, Values::Quoted(Shell::Bourne)).unwrap();
        assert_eq!(length, out.len() - start);
        out.push(b'\n');
    }
    out
}

/// One job for each value.
fn single(values: &[Vec<u8>]) -> Vec<Vec<Record>> {
    values.iter().map(|value| vec![Record::of(value.clone())]).collect()
}

/// Shows the first place where two outputs differ.
#[track_caller]
fn same(ours: &[u8], theirs: &[u8], what: &str) {
    if ours == theirs {
        return;
    }
    let at = ours.iter().zip(theirs).take_while(|(left, right)| left == right).count();
    let show = |text: &[u8]| {
        let from = at.saturating_sub(60);
        String::from_utf8_lossy(&text[from..text.len().min(at + 60)]).into_owned()
    };
    panic!("{what}: differs at byte {at}\nours:   {}\ntheirs: {}", show(ours), show(theirs));
}

/// Runs both over values that end in a NUL on standard input.
fn check(syntax: &Syntax, options: &[&str], words: &[&str], values: &[Vec<u8>]) {
    let mut input = Vec::new();
    for value in values {
        input.extend_from_slice(value);
        input.push(0);
    }
    let mut arguments: Vec<&[u8]> = vec![b"-0", b"-j1"];
    arguments.extend(options.iter().chain(words).map(|text| text.as_bytes()));
    let Some(theirs) = theirs(&arguments, &input) else { return };
    let words: Vec<&[u8]> = words.iter().map(|text| text.as_bytes()).collect();
    let ours = ours(syntax, &words, &single(values), Packing::One);
    same(&ours, &theirs, &format!("{options:?} {}", String::from_utf8_lossy(&words.join(&b' '))));
}

/// Every byte between others.
fn every_byte() -> Vec<Vec<u8>> {
    (1..=255_u8).map(|byte| vec![b'a', byte, b'b']).collect()
}

/// Whatever is special to names and shells.
fn odd_values() -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    for text in [
        "",
        "a b",
        "it's",
        "''",
        "'a",
        "a'",
        "'''a'''b''",
        "a'\"b",
        "$HOME `x` \\",
        "a\nb",
        "\n",
        "a.b",
        "a/b.c",
        "a.b/c",
        "a/",
        "/",
        "//",
        "//a",
        "a//b",
        "a//b//",
        "/a/",
        ".",
        "..",
        "./",
        ".a",
        "a.",
        "a..",
        "a.b.c.d.e",
        "x.y/a.b.c.d",
        "a.b.c.",
        "a\nb/c.d\ne/f.g\n",
        "x.y\n",
        "x/\n",
        "a.b\nc/d",
        "ü/é.ö",
        "-n",
        "--",
        "~",
        "{= 1 =}",
        "a=b",
        "#x",
        " ",
        "\t",
    ] {
        values.push(text.as_bytes().to_vec());
    }
    values
}

#[test]
fn values_are_quoted_the_same() {
    check(&Syntax::default(), &[], &["e {}|{/.}"], &every_byte());
}

#[test]
fn built_in_strings_with_odd_values() {
    let command = "e {}|{.}|{/}|{//}|{/.}|{#}|{%}|{1}|{1.}|{1/}|{1//}|{1/.}|{-1}|{-1/.}|{2}|{-2}\
                   |{01}|{0}|{1 }|{x}|{+1}|{ 1}|{1..}|{1#}|\"{}\"|'{}'|x{}y{}|{{}}|{|}";
    check(&Syntax::default(), &[], &[command], &odd_values());
}

#[test]
fn plus_strings_with_odd_values() {
    let command = "e {+/}|{+.}|{+..}|{+...}|{..}|{...}|{/..}|{/...}|{##}|{0#}|{0%}|{slot}|{host}\
                   |{sshlogin}|{hgrp}|{agrp}|{uniq}|{choose_k}|{1+/}|{1..}|{-1/...}|{1##}|{2..}";
    let syntax = Syntax { plus: true, ..Syntax::default() };
    check(&syntax, &["--plus"], &[command], &odd_values());
}

#[test]
fn plus_strings_with_parts_of_their_own() {
    let command = "e {:-str}|{:-a b}|{:-'}|{:2}|{:0}|{:1:3}|{:2:99}|{:0:1}|{:-2}|{:x}|{:}|{::}\
        |{#a}|{##a.*b}|{#a.*b}|{#[ab]+}|{###x}|{%c.*d}|{%%c.*d}|{%d}|{%[cd]+}|{%%[cd]+}|{%%%}\
        |{/a/X}|{//a/X}|{/a/}|{//a/}|{/a}|{/(.)b/$1X}|{//[ab]/$$}|{//b|c/-}|{///x}|{/./&}\
        |{^a}|{^^a}|{,A}|{,,A}|{^^.}|{^.}|{,,.}|{^^[a-c]}|{^}|{^^}|{,}|{,,}|{1^a}|{1:2}|{1:-x}\
        |{-1/b/c}|{1##a}|{1%%d+}|{#}|{%}|{##}|{/}|{//}|{.}|{..}|{2:-x}|{1:1:1}";
    let syntax = Syntax { plus: true, ..Syntax::default() };
    let values: Vec<Vec<u8>> =
        ["aabbaab.cccdddcd", "", "0", "AAab", "a/b/cd", "it's a bad cd", "ccdd", "%d#a"]
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect();
    check(&syntax, &["--plus"], &[command], &values);
}

#[test]
fn quoted_commands() {
    let syntax = Syntax { quote_command: true, ..Syntax::default() };
    let words = [
        "e", "a b {} c", "$x;{}", "it's {}", "plain", "", "{}", "{2}", "x{2}y", "{/}{//}", "a\nb",
        "~", "=x", "a=b", "{}{",
    ];
    check(&syntax, &["-q"], &words, &odd_values());
    let values = [b"a b".to_vec()];
    check(&syntax, &["-q"], &["{} x", "y"], &values);
}

#[test]
fn commands_that_begin_with_a_value() {
    let values = [b"a b".to_vec(), b"it's".to_vec(), Vec::new()];
    for command in
        ["", "{}", "x{} {}", "x={} {}", "{#} {}", " {} {}", "x\n{}", "\"{}\" {}", "x={#}{} {}"]
    {
        let words: &[&str] = if command.is_empty() { &[] } else { &[command] };
        check(&Syntax::default(), &[], words, &values);
    }
}

#[test]
fn other_names() {
    let some = |text: &str| Some(text.as_bytes().to_vec());
    let mut syntax = Syntax::default();
    syntax.renames.value = some(",,");
    let command = ["e ,, {} {.} {1} {1.} ,,1 {,,}"];
    check(&syntax, &["-I", ",,"], &command, &odd_values());
    syntax.renames.value = some("{x}");
    check(&syntax, &["-I", "{x}"], &["e {x} {} {1x} {1} {.}"], &odd_values());
    let mut syntax = Syntax::default();
    syntax.renames.without_extension = some("{e}");
    syntax.renames.base_name = some("B");
    syntax.renames.directory = some("D");
    syntax.renames.base_name_without_extension = some("{be");
    syntax.renames.seq = some("S");
    syntax.renames.slot = some("L");
    let options = [
        "--er",
        "{e}",
        "--bnr",
        "B",
        "--dnr",
        "D",
        "--bner",
        "{be",
        "--seqreplace",
        "S",
        "--slotreplace",
        "L",
    ];
    let command = "e {} {e} {1e} {.} B {/} {1/} D {//} {be {/.} S {#} L {%} {1B} {1#} {1be";
    check(&syntax, &options, &[command], &odd_values());
}

/// Values as arguments (`:::`), several sources if there are empty texts between them.
fn check_packed(
    options: &[&str],
    words: &[&str],
    sources: &[&[&str]],
    jobs: &[&[&str]],
    syntax: &Syntax,
    packing: Packing,
) {
    let mut arguments: Vec<&str> = vec!["-j1"];
    arguments.extend(options.iter().chain(words));
    for source in sources {
        arguments.push(":::");
        arguments.extend(*source);
    }
    let arguments: Vec<&[u8]> = arguments.iter().map(|text| text.as_bytes()).collect();
    let Some(theirs) = theirs(&arguments, b"") else { return };
    // A record for each source's worth of values.
    let jobs: Vec<Vec<Record>> = jobs
        .iter()
        .map(|values| {
            (values.chunks(sources.len()))
                .map(|chunk| Record {
                    values: chunk.iter().map(|text| text.as_bytes().to_vec()).collect(),
                })
                .collect()
        })
        .collect();
    let words: Vec<&[u8]> = words.iter().map(|text| text.as_bytes()).collect();
    let ours = ours(syntax, &words, &jobs, packing);
    same(&ours, &theirs, &format!("{options:?} {}", String::from_utf8_lossy(&words.join(&b' '))));
}

#[test]
fn packed_values() {
    let command = &[
        "e x{}y {.}-{/} {#} {#}{} {1} {2} {1}{2} x{}{1}y {-1} {-2}{} {-4} {-5} {3} \"x {} y\" a;{}&b>{}|(z) \
         {}{}  end {//} {1}{} {0}",
        "q'{}' {} w",
    ][..];
    let source: &[&str] = &["a.1", "x/b c", "it's"];
    let default = Syntax::default();
    let quoted = Syntax { quote_command: true, ..Syntax::default() };
    let one = &[&["a.1", "x/b c", "it's"][..]][..];
    let two = &[&["a.1", "x/b c"][..], &["it's"]][..];
    check_packed(&["-m"], command, &[source], one, &default, Packing::Join);
    check_packed(&["-X"], command, &[source], one, &default, Packing::Repeat);
    check_packed(&["-N2"], command, &[source], two, &default, Packing::Repeat);
    check_packed(&["-n2"], &["e"], &[source], two, &default, Packing::Repeat);
    check_packed(&["-N2", "-m"], command, &[source], two, &default, Packing::Join);
    check_packed(&["-X", "-q"], command, &[source], one, &quoted, Packing::Repeat);
    check_packed(&["-m", "-q"], command, &[source], one, &quoted, Packing::Join);
}

#[test]
fn several_sources() {
    let command = &["e {} x{}y {1} {2/} {-1.} {-2} {-3} {-4} {3} {0}"][..];
    let sources: &[&[&str]] = &[&["a b", "c"], &["x/y.z", ""]];
    let jobs: &[&[&str]] = &[&["a b", "x/y.z"], &["a b", ""], &["c", "x/y.z"], &["c", ""]];
    check_packed(&[], command, sources, jobs, &Syntax::default(), Packing::One);
    let quoted = Syntax { quote_command: true, ..Syntax::default() };
    check_packed(&["-q"], command, sources, jobs, &quoted, Packing::One);
    let pairs: &[&[&str]] = &[&["a b", "x/y.z", "a b", "", "c", "x/y.z", "c", ""]];
    check_packed(&["-X"], command, sources, pairs, &Syntax::default(), Packing::Repeat);
    let names = vec![b"n".to_vec(), b"two words".to_vec()];
    let syntax = Syntax { names, ..Syntax::default() };
    let sources: &[&[&str]] = &[&["n", "a b", "c"], &["two words", "x/y.z", ""]];
    let command = &["e {n} {n.} {n/} {two words} {two words//} {1} {2} {nn} {1n} {}"][..];
    check_packed(&["--header", ":"], command, sources, jobs, &syntax, Packing::One);
}
