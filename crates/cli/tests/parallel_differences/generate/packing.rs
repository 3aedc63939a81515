//! Many values for one job: how many of them a command line holds.

use super::Case;
use testkit::Random;

const PACKINGS: &[&str] =
    &["-X", "-X", "-m", "-m", "--xargs", "-n 2", "-n 7", "-N 2", "-N 3", "-N 40", "-L 2", "-L 5"];

const COMMANDS: &[&str] = &[
    "echo",
    "echo {}",
    "echo {#} {}",
    "echo {#}x{}",
    "echo {.} {/}",
    "echo pre{}post",
    "echo {} {}",
    "echo {1} {2}",
    "echo {%} {}",
    "printf '%s|' {}; echo",
    "echo \"$PARALLEL_SEQ\" {}",
];

/// What shows the values alone, whatever job they are in.
const LARGE_COMMANDS: &[&str] = &["echo", "echo {}", "echo {.}", "cd /; echo {}"];

/// What values consist of: some of it is quoted.
const LETTERS: &[u8] = b"aaaaabcdefgh012345./-_ ';$*";

/// Up to which the jobs of both hold the same values: parallel's own limit is half of the kernel's.
const SAME_BYTES: usize = 50_000;

/// Holds any value, quoted, however often the command contains it.
const ANY_VALUE_BYTES: usize = 400;

/// A command line of a few hundred values, or of so many that not even the kernel's limit holds
/// them.
pub(crate) fn packed(seed: u64) -> Case {
    let mut random = Random::from_seed(seed);
    let is_large = random.percent(10);
    let at_once = random.one_of(&["-j1", "-j1", "-j2 -k", "-j3 -k", "-j12 -k"]);
    let mut words: Vec<String> = at_once.split(' ').map(str::to_owned).collect();
    let packing = random.one_of(if is_large { &["-X", "-m", "--xargs"] } else { PACKINGS });
    words.extend(packing.split(' ').map(str::to_owned));
    if !is_large && random.percent(20) {
        let more = random.one_of(PACKINGS);
        words.extend(more.split(' ').map(str::to_owned));
    }
    if !is_large && random.percent(80) {
        // A value that is too long ends the jobs that run at once with it, or those that still do.
        let least = if at_once == "-j1" { 15 } else { ANY_VALUE_BYTES };
        let most = random.one_of(&[30, 60, 200, 1000, SAME_BYTES]);
        words.extend(["-s".to_owned(), (least + random.index(most)).to_string()]);
    }
    let mut command = random.one_of(if is_large { LARGE_COMMANDS } else { COMMANDS });
    if at_once != "-j1" {
        // Which slot a job gets depends on when others end.
        command = if command.contains("{%}") { "echo" } else { command };
    }
    words.push(command.to_owned());
    let count = if is_large { 15_000 + random.index(40_000) } else { 1 + random.index(300) };
    let longest = [1, 3, 12, 40][random.index(4)];
    let stdin = (0..count).map(|_| value(&mut random, longest)).collect();
    Case { words, stdin, by_words: is_large }
}

/// A line.
fn value(random: &mut Random, longest: usize) -> String {
    let length = 1 + random.index(longest);
    let letter = |_| char::from(LETTERS[random.index(LETTERS.len())]);
    let text: String = (0..length).map(letter).collect();
    // Not `-n`, which would be an option of echo wherever it begins a line.
    format!("v{text}\n")
}
