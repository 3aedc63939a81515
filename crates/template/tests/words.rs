//! Running without a shell: the words that we make of a template must be those that `sh` makes of
//! the command line that the same template renders to.
//!
//! Many command lines go through one `sh`, each calling a function that prints its arguments.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use template::quote::Shell;
use template::shell::{Surroundings, needed};
use template::{Context, Packing, Record, Syntax, Template, Values};

/// The arguments of each command line, as `sh` finds them.
fn by_shell(lines: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let mut script = b"x() { printf '%s\\0' $# \"$@\"; }\n".to_vec();
    for line in lines {
        script.extend_from_slice(line);
        script.push(b'\n');
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().write_all(&script).unwrap();
    let output =
        Command::new("sh").arg(file.path()).stdin(Stdio::null()).output().expect("sh starts");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut texts = output.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let mut commands = Vec::new();
    for _ in lines {
        let count: usize = String::from_utf8(texts.next().unwrap()).unwrap().parse().unwrap();
        // `printf` prints one empty text where there is no argument, but the count is one.
        commands.push((0..count).map(|_| texts.next().unwrap()).collect());
    }
    commands
}

/// Parts of words, some of which ask for a shell.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec![
            "{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{1}", "{2}", "{3}", "{-1}", "{2/}", "{x}",
        ]).prop_map(str::to_owned),
        4 => "[a-zA-Z0-9_./+:,@%-]{1,4}",
        2 => prop::sample::select(vec![
            "'a b'", "'$x'", "''", "\"\"", "\"a b\"", "\"it's\"", "\\ ", "\\'", "\\\"", "\\$", "'\\'", "\\\\",
            "'#'", "a#", "'\"'", "\\#", "\"*\"", "'\t'", "\\a",
        ]).prop_map(str::to_owned),
        3 => prop::sample::select(vec![" ", "  ", "\t"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec![
            "'", "\"", "\\", "$x", "*", "=", "~", "#", ";", "!", "[", "'a {} b'", "\"{}\"",
        ]).prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(1..=255_u8, 0..6),
        "[ a'\"\\\\$*/.\n-]{0,8}".prop_map(String::into_bytes),
    ]
}

/// One case: a command, its values, and how they are packed.
fn case() -> impl Strategy<Value = (String, Vec<Vec<u8>>, Packing, bool)> {
    (
        prop::collection::vec(part(), 0..12).prop_map(|parts| parts.concat()),
        prop::collection::vec(value(), 1..4),
        prop::sample::select(vec![Packing::One, Packing::Join, Packing::Repeat]),
        any::<bool>(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words_are_those_of_a_shell(cases in prop::collection::vec(case(), 150)) {
        let (mut lines, mut ours) = (Vec::new(), Vec::new());
        for (command, values, packing, quote_command) in cases {
            let syntax = Syntax { quote_command, ..Syntax::default() };
            // With `-q` each part stands in a word of its own.
            let words: Vec<Vec<u8>> = ["x".to_owned(), command.clone()].map(String::into_bytes).to_vec();
            let template = Template::parse(&words, &syntax).unwrap();
            if needed(&template, &Surroundings::default()).is_some() {
                continue;
            }
            let records: Vec<Record> = values.into_iter().map(Record::of).collect();
            let context = Context {
                seq: 7, slot: 2, slots: 2, total: None, records: &records, packing, local_time_s: 0,
            };
            let mut line = Vec::new();
            template.render(&context, Values::Quoted(Shell::Bourne), &mut line).unwrap();
            let mut words = Vec::new();
            template.render_words(&context, &mut words).unwrap();
            let mut words: Vec<Vec<u8>> = template::words(&words).map(<[u8]>::to_vec).collect();
            prop_assert_eq!(words.remove(0), b"x".to_vec());
            ours.push((words, command, packing));
            lines.push(line);
        }
        prop_assert!(lines.len() > 20, "{} of the cases need no shell", lines.len());
        let shells = by_shell(&lines);
        for ((words, command, packing), (shell, line)) in ours.iter().zip(shells.iter().zip(&lines)) {
            prop_assert_eq!(
                words, shell, "{:?} {:?} as {}", packing, command, String::from_utf8_lossy(line)
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever stands in a command: it is rendered or refused, and nothing panics.
    #[test]
    fn any_expression_is_run_or_refused(
        parts in prop::collection::vec(prop::sample::select(vec![
            "s/", "/", "tr/", "a-z", "z-a", "\\", "$_", "$", "$1", "$$1", "@arg", "$arg[", "]", "(", ")", "{", "}",
            "=", "++", "--", "**", "x", "<=>", "?", ":", ";", "if", "else", "'", "\"", "1", "9e9", "-", ".", "substr",
            "sprintf", "%s%-9.3d", ",", " ", "é", "seq()", "skip", "uq", "chr", "hex", "||", "//", "!~", "=~", "y!", "q",
        ]), 0..14),
        value in value(),
        plus in any::<bool>(),
    ) {
        let text = parts.concat();
        let rpl = vec![(b"{t(.*?)}".to_vec(), text.clone().into_bytes())];
        for command in [format!("e {{={text}=}} {{{text}}}"), "e {tab} {2tc}".to_owned()] {
            let rpl = if command.contains("{tab}") { rpl.clone() } else { Vec::new() };
            let syntax = Syntax { plus, rpl, ..Syntax::default() };
            let Ok(template) = Template::parse(&[command.into_bytes()], &syntax) else { continue };
            let records = [Record::of(value.clone()), Record::of("b")];
            let context = Context {
                seq: 1, slot: 1, slots: 1, total: Some(2), records: &records, packing: Packing::Repeat,
                local_time_s: -1,
            };
            let _ = template.render(&context, Values::Quoted(Shell::Csh), &mut Vec::new());
        }
    }
}
