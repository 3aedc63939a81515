//! Options of a graph: what is wrong with them, in the words of the installed rrdtool.

use std::process::Command;

use graph::settings_line::parse;

/// Options that are wrong, and the error.
const WRONG: &[(&[&str], &str)] = &[
    (&["-w", "5"], "width below 10 pixels"),
    (&["--width="], "width below 10 pixels"),
    (&["-h", "x"], "height below 10 pixels"),
    (&["-q"], "invalid option -- 'q'"),
    (&["--tit", "x"], "invalid option -- 'tit'"),
    (&["--lazy=3"], "option takes no arguments -- 'lazy'"),
    (&["-u", "abc"], "option -u - Cannot convert 'abc' to float"),
    (&["-u", "0x10"], "option -u - Converted '0x10' to 0.000000, but cannot convert 'x10'"),
    (&["-l", "1x"], "option -l - Converted '1x' to 1.000000, but cannot convert 'x'"),
    (&["-T", "x"], "option -T - Cannot convert 'x' to float"),
    (&["-b", "5"], "the only sensible value for base apart from 1000 is 1024"),
    (&["-n", "X"], "invalid text property format"),
    (&["-n", "TITLE:a"], "invalid text property format"),
    (&["-n", "FOO:8:"], "invalid fonttag 'FOO'"),
    (&["-n", "TITLE:8xArial"], "expected : after font size in 'TITLE:8xArial'"),
    (&["-c", "FOO#111111"], "invalid color name 'FOO'"),
    (&["-c", "BACK#12"], "the color format is #RRGGBB[AA]"),
    (&["-c", "BACK"], "invalid color def format"),
    (&["-c", "back#123456"], "invalid color def format"),
    (&["-x", "foo"], "invalid x-grid format"),
    (&["-x", "FOO:1:HOUR:1:HOUR:1:0:%H"], "unknown keyword FOO"),
    (&["-y", "foo"], "invalid y-grid format"),
    (&["-y", "1"], "invalid y-grid format"),
    (&["-y", "0:1"], "grid step must be > 0"),
    (&["-y", "1:0"], "label factor must be > 0"),
    (&["-y", "1-:1"], "option -y - Converted '1-' to 1.000000, but cannot convert '-'"),
    (&["-m", "0"], "zoom factor must be > 0"),
    (&["-m", "a"], "option -m - Cannot convert 'a' to float"),
    (&["-R", "foo"], "unknown font-render-mode 'foo'"),
    (&["-G", "foo"], "unknown graph-render-mode 'foo'"),
    (&["-a", "png"], "unsupported graphics format 'png'"),
    (&["--legend-position", "foo"], "unknown legend-position 'foo'"),
    (&["--legend-direction", "foo"], "unknown legend-position 'foo'"),
    (&["--units", "foo"], "invalid argument for --units: foo"),
    (&["--units=si", "--units=si"], "--units can only be used once!"),
    (&["--right-axis", "0:1"], "the second_axis_scale  must not be 0"),
    (&["--right-axis", "x"], "invalid right-axis format expected scale:shift"),
    (&["--grid-dash", "1"], "invalid grid-dash format"),
    (&["--left-axis-formatter", "x"], "Unknown left axis formatter"),
    (&["--right-axis-formatter", "x"], "Unknown right axis formatter"),
    (&["--graph-type", "foo"], "unsupported graphics type 'foo'"),
    (&["-o", "-l", "0"], "for a logarithmic yaxis you must specify a lower-limit > 0"),
    (
        &["-f", "x"],
        "invalid format string 'x' (should match '^(?:[^%]+|%%)*%s(?:[^%]+|%%)*%lu(?:[^%]+|%%)*%lu(?:[^%]+|%%)*$')",
    ),
    (
        &["--right-axis-format", "%d"],
        "invalid format string '%d' (should match '^(?:[^%]+|%%)*%[-+ 0#]?[0-9]*(?:[.][0-9]+)?l[eEfFgG](?:[^%]+|%%)*$')",
    ),
];

fn arguments(options: &[&str]) -> Vec<String> {
    ["x.png"].iter().chain(options).map(|option| (*option).to_owned()).collect()
}

#[test]
fn wrong_options_are_named_in_the_known_words() {
    for (options, expected) in WRONG {
        let error = parse(&arguments(options), None, &|_| Ok(()))
            .map(|_| ())
            .map_err(|error| error.to_string());
        assert_eq!(error, Err((*expected).to_owned()), "{options:?}");
    }
}

#[test]
fn rrdtool_uses_the_same_words() {
    if !testkit::is_installed("words of wrong options", "rrdtool") {
        return;
    }
    for (options, expected) in WRONG {
        let output = Command::new("rrdtool").arg("graph").args(arguments(options)).output();
        let output = output.expect("rrdtool starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(text.trim_end(), format!("ERROR: {expected}"), "{options:?}");
    }
}

#[test]
fn options_stand_anywhere_and_end_at_two_dashes() {
    let line = ["a.png", "-w300", "LINE:a", "--title", "-x", "-Eo", "--", "-h", "20"];
    let line: Vec<String> = line.iter().map(|argument| (*argument).to_owned()).collect();
    let (settings, others) = parse(&line, None, &|_| Ok(())).expect("a good line");
    assert_eq!(others, ["a.png", "LINE:a", "-h", "20"]);
    assert_eq!((settings.width, settings.title.as_str()), (300, "-x"));
    assert!(settings.slope_mode && settings.logarithmic);
}

/// RRDtool takes a part of the digits for another colour.
#[test]
fn a_color_with_more_than_its_digits_is_refused() {
    for color in ["BACK#ff00zz", "BACK#fffffffff", "BACK#ffffff-", "BACK#fff fff"] {
        let error = parse(&arguments(&["-c", color]), None, &|_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "the color format is #RRGGBB[AA]", "{color}");
    }
    parse(&arguments(&["-c", "BACK#ffffff "]), None, &|_| Ok(())).expect("a blank is no digit");
}

#[test]
fn limits_are_read_as_c_reads_them() {
    let infinite = f64::INFINITY;
    for (text, expected) in [(" 5", 5.0), ("infinity", infinite), ("-inf", -infinite)] {
        let (settings, _) = parse(&arguments(&["-u", text]), None, &|_| Ok(())).expect(text);
        assert_eq!(settings.upper_limit, Some(expected));
    }
}
