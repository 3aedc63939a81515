//! The table of GNU parallel's options beside the options of the installed program.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use run::parallel_options::{ParallelAnswer, ParallelOption, Takes, in_full, named};

/// Prints the definitions of its options, `long-name|n=s` a line each.
const PRINT_OPTIONS: &str = r#"
    open my $file, "<", $ARGV[0] or die;
    my $text = join "", <$file>;
    $text =~ /^(sub options_completion_hash\(\) \{.*?^\})/ms or die "no table";
    eval $1;
    my %options = options_completion_hash();
    for (sort keys %options) { s/\[.*//s; print "$_\n" }
"#;

/// An option of the installed program.
struct Installed {
    /// All its names, with hyphens.
    names: Vec<String>,
    takes: Takes,
}

impl Installed {
    fn of(line: &str) -> Self {
        let (names, takes) = match line.split_once(['=', ':']) {
            None => (line, Takes::Nothing),
            Some((names, _)) if line.contains('=') => (names, Takes::Value),
            Some((names, _)) => (names, Takes::Perhaps),
        };
        let hyphens = |name: &str| if name.len() == 1 { "-" } else { "--" };
        let names = names.split('|').map(|name| format!("{}{name}", hyphens(name))).collect();
        Installed { names, takes }
    }
}

/// The options of the installed program; `None` if there is none.
fn installed() -> Option<Vec<Installed>> {
    let path = std::env::var_os("PATH")?;
    let named = |folder: PathBuf| folder.join("parallel");
    let file = std::env::split_paths(&path).map(named).find(|file| file.is_file())?;
    let output = Command::new("perl").args(["-e", PRINT_OPTIONS]).arg(file).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let options: Vec<Installed> = text.lines().map(Installed::of).collect();
    (!options.is_empty()).then_some(options)
}

fn or_skip() -> Option<Vec<Installed>> {
    let installed = installed();
    if installed.is_none() {
        testkit::skip("GNU parallel", "not installed");
    }
    installed
}

#[test]
fn every_spelling_of_the_installed_program_is_in_the_table() {
    let Some(options) = or_skip() else { return };
    let mut spellings = 0;
    let mut wrong = Vec::new();
    for option in &options {
        let found: BTreeSet<Option<&str>> =
            option.names.iter().map(|name| named(name).map(ParallelOption::name)).collect();
        spellings += option.names.len();
        if found.len() != 1 || found.contains(&None) {
            wrong.push(format!("{:?} are {found:?}", option.names));
        }
        for known in option.names.iter().filter_map(|name| named(name)) {
            if known.takes != option.takes {
                wrong.push(format!("{:?} takes {:?}", option.names, option.takes));
            }
        }
    }
    assert!(spellings > 250, "{spellings}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_abbreviation_that_the_installed_program_takes_is_taken() {
    let Some(options) = or_skip() else { return };
    let long = |option: &Installed| option.names.clone().into_iter().filter(|n| n.len() > 2);
    let mut checked = 0;
    for option in &options {
        let Some(first) = option.names.first() else { continue };
        let wanted = named(first).expect("the test before");
        for name in long(option) {
            for end in 4..name.len() {
                let short = &name[..end];
                let begins = |other: &&Installed| long(other).any(|name| name.starts_with(short));
                let is_name = options.iter().any(|other| other.names.iter().any(|n| n == short));
                if is_name || options.iter().filter(begins).count() != 1 {
                    continue;
                }
                // Options of our own that begin another's name stay what they are.
                if ["--record", "--shell"].contains(&short) {
                    continue;
                }
                checked += 1;
                let given = [short, "v"].map(OsString::from).to_vec();
                let line: Vec<String> =
                    in_full(given).iter().map(|w| w.to_string_lossy().into_owned()).collect();
                let is_in_full = match wanted.answer {
                    ParallelAnswer::As([]) => line == ["v"],
                    ParallelAnswer::As([first, ..]) => line[0] == *first,
                    _ => line[0].split('=').next() == Some(wanted.name()),
                };
                assert!(is_in_full, "{short} became {line:?}, not {}", wanted.name());
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}
