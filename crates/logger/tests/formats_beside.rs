//! Messages of the clients beside those of the languages: programs in C, C++ and Rust log a value and
//! print it, by `snprintf`, {fmt} and `format!`; `log_format` must make the same text of the record.
//!
//! Formats and values of C and C++ are random: 500 and 140 in a short run, 2500 and 700 in a long
//! one. `WHIT_SEED` sets another seed than the usual one.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::reading::folder;
use log_format::{LogRecord, RecordOrigin, write_message};
use logger::{LogConfig, LogLevel, Logger, log_info};
use logring::{Batch, ProcessFile, RingDirectory, RingReader, abi};
use testkit::{Random, share};

/// The messages in a folder of one thread, in their order.
fn messages(folder: &Path) -> Vec<Vec<u8>> {
    let directory = RingDirectory::scan(folder).unwrap();
    let process = ProcessFile::open(&directory.processes[0]).unwrap();
    let mut found = Vec::new();
    for path in &directory.rings {
        let (mut ring, mut batch) = (RingReader::open(path).unwrap(), Batch::default());
        loop {
            ring.read(&mut batch, 1 << 16).unwrap();
            if batch.is_empty() {
                break;
            }
            for record in batch.records().map(Result::unwrap) {
                if record.kind == abi::kind::LOG {
                    let origin = RecordOrigin::default();
                    let record = LogRecord::new(&record, process.dictionary(), origin, 0);
                    let mut out = Vec::new();
                    write_message(&mut out, &record);
                    found.push(out);
                }
            }
        }
    }
    found
}

/// Compiles a program that logs and prints each case, runs it, and compares.
fn compare(name: &str, compiler: &[&str], head: &str, cases: &[String], seed: u64) {
    let source_name = if name == "c" { "beside.c" } else { "beside.cpp" };
    let built = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/c");
    let mut source = String::from(head);
    for (number, some) in cases.chunks(50).enumerate() {
        let calls: String = some.iter().map(|case| format!("    PAIR({case});\n")).collect();
        let _ = write!(source, "static void part{number}(void)\n{{\n{calls}}}\n");
    }
    source.push_str("static void all(void)\n{\n");
    for number in 0..cases.len().div_ceil(50) {
        let _ = writeln!(source, "    part{number}();");
    }
    source.push_str("}\n");
    std::fs::write(built.path().join(source_name), source).unwrap();
    let object = built.path().join("whit_log.o");
    let program = built.path().join("beside");
    let run = |command: &mut Command| {
        let said = command.current_dir(&root).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        said.stdout
    };
    run(Command::new("cc")
        .args(["-std=c11", "-O1", "-Iinclude", "-c", "src/whit_log.c", "-o"])
        .arg(&object));
    let (compiler, options) = compiler.split_first().unwrap();
    run(Command::new(compiler)
        .args(["-O0", "-w", "-pthread", "-Iinclude", "-o"])
        .arg(&program)
        .arg(built.path().join(source_name))
        .arg(&object)
        .args(options));
    let folder = folder();
    let printed = String::from_utf8(run(Command::new(&program).arg(folder.path()))).unwrap();
    let ours = messages(folder.path());
    assert_eq!((ours.len(), printed.lines().count()), (cases.len(), cases.len()));
    let mut different = Vec::new();
    for ((case, expected), ours) in cases.iter().zip(printed.lines()).zip(&ours) {
        let hex: String = ours.iter().map(|byte| format!("{byte:02x}")).collect();
        if hex != expected {
            let bytes: Vec<u8> = (0..expected.len() / 2)
                .map(|at| u8::from_str_radix(&expected[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            let (ours, expected) = (String::from_utf8_lossy(ours), String::from_utf8_lossy(&bytes));
            different.push(format!("{case}\n  {ours:?}, not {expected:?}"));
        }
    }
    let some: Vec<_> = different.iter().take(30).collect();
    assert!(different.is_empty(), "seed {seed}: {} differ: {some:#?}", different.len());
}

const START: &str = r#"
static double bits(unsigned long long word)
{
    double number;
    memcpy(&number, &word, 8);
    return number;
}
static void print_hex(const char *text, size_t length)
{
    for (size_t at = 0; at < length; ++at) printf("%02x", (unsigned char)text[at]);
    printf("\n");
}
static void all(void);
int main(int count, char **words)
{
    whit_log_settings settings;
    whit_log_defaults(&settings);
    settings.directory = words[1];
    settings.host_name = "host";
    if (count != 2 || whit_log_start(&settings) < 0) return 1;
    make_logger();
    all();
    return 0;
}
"#;

const C_HEAD: &str = r#"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include "whit_log.h"
static void print_hex(const char *text, size_t length);
static whit_log_logger logger;
static char buffer[70000];
static void make_logger(void) { whit_log_logger_make(&logger, "beside", NULL, 0); }
#define PAIR(...) \
    do { WHIT_LOG_INFO(&logger, __VA_ARGS__); \
        print_hex(buffer, (size_t)snprintf(buffer, sizeof buffer, __VA_ARGS__)); } while (0)
"#;

const CPP_HEAD: &str = r#"
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include "whit_log.hpp"
static whit::Logger *logger;
static void make_logger() { logger = new whit::Logger("beside"); }
static void print_hex(const char *text, size_t length);
#define PAIR(...) \
    do { WHIT_INFO((*logger), __VA_ARGS__); \
        std::string made = fmt::format(__VA_ARGS__); print_hex(made.data(), made.size()); } while (0)
"#;

fn word(random: &mut Random) -> u64 {
    const EDGES: [u64; 12] = [
        0,
        1,
        0x7F,
        0x80,
        0xFF,
        0x8000,
        0x7FFF_FFFF,
        0x8000_0000,
        0xFFFF_FFFF,
        0x7FFF_FFFF_FFFF_FFFF,
        0x8000_0000_0000_0000,
        u64::MAX,
    ];
    match random.below(3) {
        0 => EDGES[random.below(12) as usize],
        1 => random.below(1000),
        _ => random.below(u64::MAX) >> random.below(64),
    }
}

fn float_bits(random: &mut Random) -> u64 {
    match random.below(10) {
        0 => 0,
        1 => 1 << 63,
        2 => f64::INFINITY.to_bits(),
        3 => f64::NAN.to_bits(),
        4 => f64::MAX.to_bits(),
        5 => 1 + random.below(1000),
        6 => random.below(u64::MAX),
        7 => (random.below(4000) as f64 / 8.0).to_bits(),
        8 => 10_f64.powi(random.below(40) as i32 - 20).to_bits(),
        _ => (-(random.below(1 << 40) as f64) / 1e6).to_bits(),
    }
}

const TEXTS: [&str; 7] = [
    r#""""#,
    r#""a""#,
    r#""some words""#,
    r#""\xc3\xa4\xe6\x97\xa5x""#,
    r#""{}%d""#,
    r#""\t""#,
    r#""10%""#,
];

fn c_case(random: &mut Random) -> String {
    let letter = {
        let letters = b"diuoxXcspfFeEgGaA";
        char::from(letters[random.below(letters.len() as u64) as usize])
    };
    let mut format = String::from("%");
    for (flag, takers) in [
        ('-', "diuoxXcspfFeEgGaA"),
        ('+', "difFeEgGaA"),
        (' ', "difFeEgGaA"),
        ('#', "oxXfFeEgGaA"),
        ('0', "diuoxXfFeEgGaA"),
        ('\'', "diufFgG"),
    ] {
        if takers.contains(letter) && random.below(4) == 0 {
            format.push(flag);
        }
    }
    let mut stars = String::new();
    match random.below(5) {
        0 => format.push_str(&random.below(30).to_string()),
        1 => {
            format.push('*');
            let _ = write!(stars, "{}, ", random.below(50) as i64 - 25);
        }
        2 if random.below(20) == 0 => format.push_str("4000"),
        _ => {}
    }
    if !"cp".contains(letter) && random.below(3) == 0 {
        match random.below(4) {
            0 => format.push('.'),
            1 => {
                format.push_str(".*");
                let _ = write!(stars, "{}, ", random.below(25) as i64 - 5);
            }
            _ => {
                let _ = write!(format, ".{}", random.below(25));
            }
        }
    }
    let value = match letter {
        'd' | 'i' | 'u' | 'o' | 'x' | 'X' => {
            let is_signed = "di".contains(letter);
            let (length, signed, unsigned) = *[
                ("", "int", "unsigned"),
                ("hh", "signed char", "unsigned char"),
                ("hh", "int", "unsigned"),
                ("h", "short", "unsigned short"),
                ("h", "int", "unsigned"),
                ("l", "long", "unsigned long"),
                ("ll", "long long", "unsigned long long"),
                ("j", "intmax_t", "uintmax_t"),
                ("z", "ssize_t", "size_t"),
                ("t", "ptrdiff_t", "size_t"),
            ]
            .get(random.below(10) as usize)
            .unwrap();
            format.push_str(length);
            // The other sign is as usual in C.
            let kind = if is_signed == (random.below(4) != 0) { signed } else { unsigned };
            format!("({kind}){:#x}ULL", word(random))
        }
        'c' => (1 + random.below(255)).to_string(),
        's' if !format.contains('.') && random.below(8) == 0 => "(char *)NULL".to_owned(),
        's' => TEXTS[random.below(7) as usize].to_owned(),
        'p' => format!("(void *){:#x}ULL", word(random)),
        _ if !"aA".contains(letter) && random.below(5) == 0 => {
            format.push('L');
            format!("(long double)bits({:#x}ULL)", float_bits(random))
        }
        _ => format!("bits({:#x}ULL)", float_bits(random)),
    };
    format!("\"[{format}{letter}]%% %d\", {stars}{value}, 7")
}

#[test]
fn printf_messages_are_those_of_snprintf() {
    if !testkit::is_installed("the C client", "cc") {
        return;
    }
    let seed = testkit::seed(20_261_123);
    let mut random = Random::from_seed(seed);
    let mut cases: Vec<String> = (0..share(2500)).map(|_| c_case(&mut random)).collect();
    cases.extend(
        [
            r#""%2$s %1$s", "one", "two""#,
            r#""%3$*1$.*2$f|%4$d", 9, 2, 1.005, 5"#,
            r#""%c%c", (char)0xc3, (char)0xa4"#,
            r#""%d %x %hhx", (char)0x80, (char)0x80, (char)0x80"#,
            r#""%d %f %s", 1 == 1, 2.5f, "" "#,
        ]
        .map(str::to_owned),
    );
    let long = "x".repeat(9000);
    cases.push(format!("\"%.6000s|%.8999s\", \"{long}\", \"{long}\""));
    compare("c", &["cc", "-std=gnu11"], &format!("{C_HEAD}{START}"), &cases, seed);
}

fn cpp_case(random: &mut Random) -> String {
    let (letters, value): (&[&str], String) = match random.below(9) {
        0 => (&["", "d", "x", "X", "o", "b", "B"], format!("(int){:#x}ULL", word(random))),
        1 => (&["", "d", "x", "X", "o", "b"], format!("(unsigned long){:#x}ULL", word(random))),
        2 => (&["", "d", "x", "o", "b"], format!("(signed char){:#x}ULL", word(random))),
        3 => (&["", "s", "d"], ["true", "false"][random.below(2) as usize].to_owned()),
        4 => (&["", "c", "d", "x"], format!("(char){}", 1 + random.below(127))),
        5 => (&["", "s"], TEXTS[random.below(7) as usize].to_owned()),
        6 => (&["", "p"], format!("(void *){:#x}ULL", word(random))),
        7 => {
            let shown = f32::from_bits(float_bits(random) as u32);
            let near = if shown.is_finite() { shown } else { 0.1 };
            (&["", "e", "g", "f"], format!("(float)bits({:#x}ULL)", f64::from(near).to_bits()))
        }
        _ => (
            &["", "", "a", "A", "e", "E", "f", "F", "g", "G"],
            format!("bits({:#x}ULL)", float_bits(random)),
        ),
    };
    let letter = letters[random.below(letters.len() as u64) as usize];
    let is_number = value.contains("bits(") || value.starts_with("(int") || value.contains("long");
    let is_float = value.contains("bits(");
    let mut spec = String::new();
    let has_align = random.below(3) == 0;
    if has_align {
        spec.push_str(random.one_of(&["<", ">", "^", "*<", "ä^", "0>"]));
    }
    if is_number {
        let is_signed = is_float || value.starts_with("(int");
        if is_signed && random.below(3) == 0 {
            spec.push_str(random.one_of(&["+", "-", " "]));
        }
        if random.below(4) == 0 && (!is_float || !matches!(letter, "" | "g" | "G")) {
            spec.push('#');
        }
        // {fmt} 9 takes the zeros beside an alignment too, against the standard, and puts them before
        // the `0x` of `a`.
        if !has_align && !matches!(letter, "a" | "A") && random.below(4) == 0 {
            spec.push('0');
        }
    }
    // {fmt} 9 puts `nan` and `inf` to the left, against the standard.
    let is_finite = !value.contains("0x7ff") && !value.contains("0xfff");
    if (is_finite || has_align) && random.below(2) == 0 {
        let _ = write!(spec, "{}", 1 + random.below(30));
    }
    // {fmt} 9 counts characters in a precision, not the columns of wide ones as the standard does.
    let has_wide = value.contains("\\xe6");
    if (is_float || value.starts_with('"')) && !has_wide && random.below(3) == 0 {
        let _ = write!(spec, ".{}", random.below(12));
    }
    format!("\"[{{:{spec}{letter}}}]\", {value}")
}

#[test]
fn cpp_messages_are_those_of_fmt() {
    let has_fmt = Path::new("/usr/include/fmt/format.h").exists();
    if !has_fmt || !testkit::is_installed("the C++ client", "c++") {
        return testkit::skip("messages of C++", "{fmt} (Debian: libfmt-dev) or c++ is missing");
    }
    let seed = testkit::seed(20_261_123);
    let mut random = Random::from_seed(seed);
    let mut cases: Vec<String> = (0..share(700)).map(|_| cpp_case(&mut random)).collect();
    cases.extend(
        [
            r#""{} {} {}", 0.1f, 1e16, 1e-5"#,
            r#""{}{} {:d}", (char)0xc3, (char)0xa4, (char)0xc3"#,
            r#""{{{}}} {:c} {:?}", nullptr, 65, "a\n\"'\\\u00e9""#,
            r#""nothing {{}}""#,
        ]
        .map(str::to_owned),
    );
    compare("cpp", &["c++", "-std=c++17", "-lfmt"], &format!("{CPP_HEAD}{START}"), &cases, seed);
}

#[test]
fn rust_messages_are_those_of_format() {
    let folder = folder();
    let config = LogConfig::new(folder.path(), "host", "beside");
    let logging = logger::start(config).unwrap();
    let log = Logger::new("beside").unwrap();
    assert!(log.is_enabled(LogLevel::Info));
    let mut expected: Vec<String> = Vec::new();
    macro_rules! pair {
        ($($value:expr => $($format:literal)*;)*) => {$($(
            log_info!(log, $format, $value);
            expected.push(format!($format, $value));
        )*)*};
    }
    macro_rules! integers {
        ($($value:expr),*) => {$(pair! { $value =>
            "{}" "{:?}" "{:x}" "{:X}" "{:#x}" "{:o}" "{:#o}" "{:b}" "{:#b}" "{:+}" "{:+x}" "{:08}"
            "{:#010x}" "{:<8}|" "{:^9}|" "{:*^9}|" "{:$>9}|" "{:é<9}|" "{:}<9}|" "{:{>9}|" "{:<08}"
            "{:e}" "{:E}" "{:.2e}" "{:+09}" "{:x?}" "{:#X?}" "{:08x?}" "{0} {0:x}" "{{{}}}";
        })*};
    }
    integers!(0_i8, -1_i8, i8::MIN, -2_i16, i16::MIN, -3_i32, i32::MIN, 77_i32, -4_i64);
    integers!(i64::MIN, i64::MAX, -5_isize, u8::MAX, u16::MAX, u32::MAX, u64::MAX, 9_usize);
    macro_rules! floats {
        ($($value:expr),*) => {$(pair! { $value =>
            "{}" "{:?}" "{:e}" "{:E}" "{:.0}" "{:.3}" "{:10.2}|" "{:<10.1}|" "{:+}" "{:+08.2}"
            "{:012}" "{:.20}" "{:.3?}" "{:+e}" "{:^12e}|" "{:010?}" "{:#?}";
        })*};
    }
    floats!(0.1_f32, 16_777_216_f32, f32::MAX, f32::MIN_POSITIVE, f32::NAN, -0.0_f32, 1e-45_f32);
    floats!(0.1_f64, f64::MAX, 5e-324, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0_f64, 1e16);
    floats!(2.5_f64, 0.5_f64, 1.5_f32, 1e21_f64, -1e-7_f64, f32::INFINITY);
    pair! {
        true => "{}" "{:?}" "{:8}|" "{:>8?}|" "{:.2}" "{:08}|";
        'ä' => "{}" "{:?}" "{:4}|" "{:>4?}|" "{:^4}|" "{:.0}|";
        '\'' => "{}" "{:?}" "{:#?}";
        '\u{301}' => "{:?}";
        '\0' => "{:?}";
        "" => "{}" "{:?}" "{:3}|" "{:.0}";
        "日本 \"q\" \t\n\r\\ '\u{7f}\u{200b}" => "{}" "{:?}" "{:#?}" "{:30}|" "{:30?}|" "{:.3}|"
            "{:>9.2}|" "{:x?}" "{:07}|";
        String::from("é") => "{}" "{:?}" "{:-^5}|" "{:.1}";
    }
    log_info!(log, "{1} {0} {} {2:>4}", 1, "two", 3.5);
    expected.push(format!("{1} {0} {} {2:>4}", 1, "two", 3.5));
    drop(logging);
    let ours = messages(folder.path());
    assert_eq!(ours.len(), expected.len());
    for (number, (ours, expected)) in ours.iter().zip(&expected).enumerate() {
        assert_eq!(String::from_utf8_lossy(ours), *expected, "message {number}");
    }
}
