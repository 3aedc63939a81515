//! Descriptions that are wrong: the errors are rrdtool 1.7.2's, checked against the installed one.

use std::process::Command;

use calendar::CivilZone;
use graph::description::{Description, GraphTimes};
use graph::elements::Element;

/// Wrong elements, after `DEF:a`, `DEF:b` and `VDEF:v` of the first; all in a test of their own
/// would be too slow for the installed program, so they share its start.
const WRONG: [&str; 65] = [
    "COMMENT",
    "COMMENT:a:b",
    "COMMENT:cmd=b",
    "COMMENT:legend=",
    "",
    ":",
    "a=b",
    "a:b:c:d:e:f:g:h:i:j:k:l",
    "FOO:a",
    "GRAD:a",
    "LINE1",
    "LINE1:a#ff0000:foo:bar",
    "LINE1:zz#ff0000",
    "LINE1:1x#ff0000:one",
    "LINE1:0x10#ff0000",
    "LINEx:a#ff0000:one",
    "LINE-1:a#ff0000:one",
    "LINE1:a#ff0000:one:dashes=x",
    "LINE1:a#ff0000:one:dashes=1,",
    "LINE1:a#ff0000:one:dashes=1,2x",
    "LINE1:a#ff0000:one:dashes=1,2:dash-offset=x",
    "LINE1:a#ff0000:one:dashes=x,2",
    "HRULE:5#ff0000:one:dashes=5,5+",
    "HRULE:5#ff0000:one:dashes=5,.,3",
    "LINE1:a#ff0000:x:yaxis=9",
    "LINE1:a#ff0000:x:xaxis=0",
    "LINE2:vname=zz",
    "AREA:a#ff0000:x:gradheight=y",
    "AREA:a#ff0000:x:linewidth=3",
    "STACK:a#ff0000:x",
    "TICK:a",
    "TICK:a#ff0000",
    "TICK:a#ff0000:x",
    "TICK:v#ff0000:vname",
    "HRULE:a#ff0000",
    "HRULE:zz#ff0000",
    "HRULE:5#ff0000:leg:STACK",
    "SHIFT:v:10",
    "SHIFT:a:b",
    "SHIFT:a",
    "SHIFT:zz:10",
    "SHIFT:a:1.5",
    "TEXTALIGN",
    "TEXTALIGN:foo",
    "PRINT",
    "PRINT:v",
    "PRINT:a:%lf",
    "PRINT:zz:%lf",
    "PRINT:vname=zz:%lf",
    "PRINT:v:%lf:foo",
    "PRINT:v:%lf:vformatter=x",
    "XPORT:v:a",
    "XPORT:zz:a",
    "CDEF:a=b,1,+",
    "CDEF:c=a:b",
    "CDEF:c=",
    "CDEF:c=a,FOO",
    "VDEF:w=a",
    "VDEF:w=zz,MAXIMUM",
    "VDEF:w=v,MAXIMUM",
    "VDEF:w=a,FOO",
    "VDEF:w=a,PERCENT",
    "VDEF:w=a,101,PERCENT",
    "VDEF:w=a,5,MAXIMUM",
    "VDEF:w=a,MAXIMUM,x",
];

/// Wrong elements whose error comes before the database is read.
const WRONG_DEF: [&str; 14] = [
    "DEF:x=a.rrd:a",
    "DEF:x=a.rrd",
    "DEF:x=a.rrd:a:FOO",
    "DEF:x=a.rrd:a:AVERAGE:step=x",
    "DEF:x=a.rrd:a:AVERAGE:step=0",
    "DEF:x=a.rrd:a:AVERAGE:reduce=FOO",
    "DEF:x=a.rrd:a:AVERAGE:start=foo",
    "DEF:x=a.rrd:a:AVERAGE:start=end-1h:end=start+1h",
    "DEF:x=a.rrd:a:AVERAGE:start=1000000131:end=1000000130",
    "DEF:x=a.rrd:a:AVERAGE:foo=5",
    "DEF:x=a.rrd:a:AVERAGE:foo",
    "VDEF:w=a,95",
    "VDEF:w=a,95,",
    "VDEF:w=a, 95,PERCENT",
];

fn parse(elements: &[&str]) -> Result<Description, String> {
    let zone = CivilZone::utc();
    let times = GraphTimes {
        start_s: 1_000_000_100,
        end_s: 1_000_000_130,
        now_s: 1_700_000_000,
        zone: &zone,
    };
    Description::parse(elements.iter().copied(), &times).map_err(|error| error.to_string())
}

#[test]
fn wrong_elements_have_the_errors_of_rrdtool() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    for wrong in WRONG.iter().chain(&WRONG_DEF) {
        let elements =
            ["DEF:a=a.rrd:a:AVERAGE", "DEF:b=a.rrd:b:AVERAGE", "VDEF:v=a,MAXIMUM", wrong];
        let output = Command::new("rrdtool")
            .args(["graph", "/dev/null", "-s", "1000000100", "-e", "1000000130"])
            .args(elements)
            .env("TZ", "UTC")
            .output()
            .expect("rrdtool starts");
        let theirs = String::from_utf8_lossy(&output.stderr).into_owned();
        let ours = parse(&elements).expect_err(wrong);
        assert_eq!(format!("ERROR: {ours}\n"), theirs, "{wrong}");
    }
}

#[test]
fn long_texts_are_cut() {
    let comment = format!("COMMENT:{}", "x".repeat(400));
    let description = parse(&[&comment]).expect("a description");
    assert_eq!(description.elements, [Element::Comment("x".repeat(200))]);
}

#[test]
fn random_texts_never_panic() {
    let words = [
        "DEF", "CDEF", "VDEF", "LINE", "AREA", "PRINT", "TICK", "SHIFT", ":", ":", "=", "=", "#",
        ",", "a", "b", "\\", "%lf", "ff0000", "AVERAGE", "start", "end-1h", "dashes", "5", "é",
        "PREV(", ")", "DUP", "2", "COPY", "95", "PERCENT", "STACK", "strftime", "-", "e", ".",
        "\u{0}",
    ];
    let mut random = testkit::Random::from_seed(1);
    for _ in 0..20_000 {
        let mut text = random.one_of(&words[..8]).to_owned();
        for _ in 0..12 {
            text += random.one_of(&words);
        }
        let _ = parse(&["DEF:a=f:a:AVERAGE", "CDEF:b=a", &text]);
        let zone = CivilZone::utc();
        let _ = time_words::parse(&text, 1_700_000_000, &zone);
        if let Ok(program) = rpn::Program::parse(&text, |name| Some(name.len() % 3)) {
            let _ = program.evaluate(&mut rpn::Stack::new(), &[1.0, 2.0], 0.0);
        }
    }
}

/// RRDtool leaves out the element and all after it, and says nothing.
#[test]
fn a_color_that_is_none_is_an_error() {
    let elements = [
        "LINE1:a#COLOR:leg",
        "LINE1:a:leg:color=COLOR",
        "AREA:a#COLOR",
        "AREA:a#ff0000#COLOR",
        "AREA:a#ff0000:color2=COLOR",
        "STACK:a#COLOR:leg",
        "TICK:a#COLOR:0.1",
        "HRULE:5#COLOR",
        "VRULE:1000000100#COLOR:leg",
        "XPORT:a#COLOR:leg",
    ];
    let before = ["DEF:a=a.rrd:a:AVERAGE", "LINE1:a#ff0000"];
    for element in elements {
        for good in ["abc", "abcd", "00FF00", "00ff0080"] {
            let element = element.replace("COLOR", good);
            parse(&[&before[..], &[&element]].concat()).expect(&element);
        }
        let lengths = ["", "a", "ab", "abcde", "ff00000", "ff0000000"];
        let digits = ["ggg", "ff00zz", "+fff", " fff", "fff "];
        for bad in lengths.into_iter().chain(digits) {
            let element = element.replace("COLOR", bad);
            let expected = format!("the color format is #RRGGBB[AA], not '#{bad}' in {element}");
            let error = parse(&[&before[..], &[&element]].concat()).map(|_| ());
            assert_eq!(error, Err(expected), "{element}");
        }
    }
}
