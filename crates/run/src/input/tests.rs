//! Whole inputs: errors of sources, and how much of them is kept in memory.

use std::io::{self, Cursor, Read};

use super::*;

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn arguments(values: &[&str]) -> InputSource {
    InputSource::Arguments(values.iter().map(|value| bytes(value)).collect())
}

fn words(text: &str) -> Vec<Vec<u8>> {
    text.split(' ').map(bytes).collect()
}

/// All records, the values with `|` between them.
fn all(sources: Sources, options: &InputOptions, stdin: &str) -> Vec<String> {
    let input = open(sources, options, Box::new(Cursor::new(bytes(stdin)))).unwrap();
    input.map(|record| String::from_utf8(record.unwrap().values.join(&b'|')).unwrap()).collect()
}

#[test]
fn a_command_line_is_split() {
    let (command, sources) =
        split(words("echo {} ::: a b :::+ c :::: f - ::::+ g h :::"), &Separators::default());
    assert_eq!(command, words("echo {}"));
    let file = |name: &str| InputSource::File(name.into());
    let (no, linked) = (Linked::No, Linked::Previous);
    assert_eq!(
        sources,
        [
            (arguments(&["a", "b"]), no),
            (arguments(&["c"]), linked),
            (file("f"), no),
            (InputSource::Stdin, no),
            (file("g"), linked),
            (file("h"), linked),
            (arguments(&[]), no),
        ]
    );
    let renamed = Separators { arguments: bytes(",,"), files: bytes("@") };
    let (command, sources) = split(words("echo ::: ,, a ,,+ b @ c"), &renamed);
    assert_eq!((command, sources.len()), (words("echo :::"), 3));
}

#[test]
fn delimiters_as_people_write_them() {
    for (text, wanted) in [
        ("a", &b"a"[..]),
        (r"\n", b"\n"),
        (r"\0", b"\0"),
        (r"\054", b","),
        (r"\x2c", b","),
        (r"\x2cc", b",c"),
        (r"\\", b"\\"),
        ("\\", b"\\"),
        (r"\q", br"\q"),
        (r"\777", br"\777"),
        (", ", b", "),
    ] {
        assert_eq!(delimiter(text.as_bytes()).unwrap(), wanted, "{text}");
    }
    assert!(delimiter(b"").unwrap_err().to_string().contains("-d"));
}

#[test]
fn empty_input_gives_nothing() {
    assert_eq!(all(Vec::new(), &InputOptions::default(), ""), [""; 0]);
    let nothing = || (arguments(&[]), Linked::No);
    assert_eq!(all(vec![nothing(), nothing()], &InputOptions::default(), ""), [""; 0]);
    // Beside others it is an empty value.
    let some = (arguments(&["a", "b"]), Linked::No);
    assert_eq!(all(vec![some.clone(), nothing()], &InputOptions::default(), ""), ["a|", "b|"]);
    let link = InputOptions { link: true, ..InputOptions::default() };
    assert_eq!(all(vec![nothing(), some], &link, ""), ["|a", "|b"]);
}

#[test]
fn a_nul_is_written_out_and_warned_of_once() {
    let mut input =
        open(Vec::new(), &InputOptions::default(), Box::new(&b"a\0b\nc\n\0\n"[..])).unwrap();
    assert_eq!(input.take_warnings(), [""; 0]);
    assert_eq!(input.next().unwrap().unwrap().values, [br"a\0b"]);
    assert_eq!(input.take_warnings().len(), 1);
    assert_eq!(input.by_ref().count(), 2);
    assert_eq!(input.take_warnings(), [""; 0]);
}

#[test]
fn a_line_of_four_gigabytes_is_refused_early() {
    struct Counted(u64);
    impl Read for Counted {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            assert!(self.0 < 64 << 20, "it reads on");
            into.fill(b'x');
            self.0 += into.len() as u64;
            Ok(into.len())
        }
    }
    for options in [
        InputOptions::default(),
        InputOptions { columns: Columns::Csv(bytes(",")), ..InputOptions::default() },
        InputOptions { delimiter: bytes("END"), ..InputOptions::default() },
    ] {
        let mut input = open(Vec::new(), &options, Box::new(Counted(0))).unwrap();
        let error = input.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("standard input") && error.contains("16777216"), "{error}");
        assert!(input.next().is_none());
    }
}

#[test]
fn quotes_that_never_close_are_refused() {
    let options = InputOptions { columns: Columns::Csv(bytes(",")), ..InputOptions::default() };
    let endless = Box::new(Cursor::new(b"\"a\n".to_vec()).chain(Endless));
    let error = open(Vec::new(), &options, endless).unwrap().next().unwrap().unwrap_err();
    assert!(matches!(error, InputError::TooLong { .. }), "{error}");
    let open_quote = Box::new(&b"a,b\n\"c\n"[..]);
    let mut input = open(Vec::new(), &options, open_quote).unwrap();
    assert_eq!(input.next().unwrap().unwrap().values, [b"a", b"b"]);
    let error = input.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("not closed"), "{error}");
}

/// Short lines without end.
struct Endless;

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        into.fill(b'\n');
        into.iter_mut().step_by(2).for_each(|byte| *byte = b'x');
        Ok(into.len())
    }
}

#[test]
fn what_is_wrong_is_named() {
    let missing = vec![(InputSource::File("/nonexistent/file".into()), Linked::No)];
    let opened = open(missing, &InputOptions::default(), Box::new(io::empty()));
    assert!(opened.err().unwrap().to_string().contains("/nonexistent/file"));
    let folder = vec![(InputSource::File("/".into()), Linked::No)];
    let mut opened = open(folder, &InputOptions::default(), Box::new(io::empty())).unwrap();
    assert!(opened.next().unwrap().unwrap_err().to_string().contains("cannot read /"));
    let pattern =
        InputOptions { columns: Columns::Separator(bytes("a(?=b)")), ..InputOptions::default() };
    let opened = open(Vec::new(), &pattern, Box::new(io::empty()));
    let error = opened.err().unwrap().to_string();
    assert!(error.contains("a(?=b)") && error.contains("--colsep"), "{error}");
}

#[test]
fn csv_as_spreadsheets_write_it() {
    let options = InputOptions { columns: Columns::Csv(bytes(",")), ..InputOptions::default() };
    let text = "a,\"b \"\"c\"\"\",\"d\ne\"\r\n , f,\n\"\"\n";
    assert_eq!(all(Vec::new(), &options, text), ["a|b \"c\"|d\ne", " | f|", ""]);
    let named = InputOptions { header: ValueNames::First, ..options };
    let input = open(Vec::new(), &named, Box::new(&b"\"x y\",z\n1,2\n"[..])).unwrap();
    assert_eq!(input.names(), [&b"x y"[..], b"z"]);
    assert_eq!(input.count(), 1);
    for text in ["a\"b", "\"a\"b,c", "\"a"] {
        let mut input = open(
            Vec::new(),
            &InputOptions { columns: Columns::Csv(bytes(",")), ..InputOptions::default() },
            Box::new(Cursor::new(bytes(text))),
        )
        .unwrap();
        assert!(matches!(input.next(), Some(Err(InputError::Csv { .. }))), "{text}");
    }
}

#[test]
fn shuffled_are_all_of_them_in_another_order() {
    let sources =
        || vec![(arguments(&["a", "b", "c"]), Linked::No), (InputSource::Stdin, Linked::No)];
    let stdin = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let in_order = all(sources(), &InputOptions::default(), stdin);
    let shuffled = |seed| {
        all(sources(), &InputOptions { shuffle: Some(seed), ..InputOptions::default() }, stdin)
    };
    assert_ne!(shuffled(1), in_order);
    assert_ne!(shuffled(1), shuffled(2));
    assert_eq!(shuffled(1), shuffled(1));
    let mut sorted = shuffled(3);
    sorted.sort();
    assert_eq!(sorted, in_order);
}

/// Gives a byte, then nothing to read yet, then a byte …
struct Stutter(Vec<u8>, bool);

impl Read for Stutter {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if self.0.is_empty() {
            return Ok(0);
        }
        into[0] = self.0.remove(0);
        Ok(1)
    }
}

#[test]
fn a_stream_that_has_nothing_yet_is_asked_again() {
    let stdin = "1\n2 \n3,x\n4\n";
    let linked = |linked| vec![(arguments(&["a", "b"]), Linked::No), (InputSource::Stdin, linked)];
    for (sources, options) in [
        (Vec::new(), InputOptions::default()),
        (Vec::new(), InputOptions { shuffle: Some(7), ..InputOptions::default() }),
        (Vec::new(), InputOptions { continued: true, ..InputOptions::default() }),
        (linked(Linked::No), InputOptions::default()),
        (linked(Linked::Previous), InputOptions::default()),
        (linked(Linked::No), InputOptions { link: true, ..InputOptions::default() }),
    ] {
        let wanted = all(sources.clone(), &options, stdin);
        let input = open(sources, &options, Box::new(Stutter(bytes(stdin), false))).unwrap();
        let mut got = Vec::new();
        for record in input {
            match record {
                Ok(record) => got.push(String::from_utf8(record.values.join(&b'|')).unwrap()),
                Err(error) => assert!(error.passes(), "{error}"),
            }
        }
        assert_eq!(got, wanted);
    }
}

#[test]
fn the_first_job_does_not_wait_for_the_end_of_a_stream() {
    // An endless stream in any place but behind a source of many values.
    for sources in [
        vec![(InputSource::Stdin, Linked::No)],
        vec![(InputSource::Stdin, Linked::No), (arguments(&["a", "b"]), Linked::No)],
        vec![(arguments(&["a"]), Linked::No), (InputSource::Stdin, Linked::No)],
        vec![(arguments(&["a", "b"]), Linked::No), (InputSource::Stdin, Linked::Previous)],
    ] {
        let mut input = open(sources, &InputOptions::default(), Box::new(Endless)).unwrap();
        assert!(input.next().unwrap().is_ok());
        assert!(input.next().unwrap().is_ok());
    }
}
