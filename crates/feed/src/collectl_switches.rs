//! The switches of collectl that whit does not have, or not in playback: why, and what to say instead.
//!
//! Some of those collectl takes in playback and does nothing with: under its name they are left out
//! ([`without_idle`]), since scripts and aliases have them; `whit play` refuses them.

use std::ffi::OsString;

/// Where a switch of collectl's is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Record,
    Play,
    Both,
}

/// collectl's switches that whit does not have, and why or what to say instead.
const REFUSED: &[(&[&str], Where, &str)] = &[
    (&["-p", "--playback"], Where::Record, "whit play shows recordings"),
    (
        &[
            "--from",
            "--thru",
            "--offsettime",
            "--extract",
            "--grep",
            "--stats",
            "--statopts",
            "--procanalyze",
            "--slabanalyze",
        ],
        Where::Record,
        "it is one of whit play",
    ),
    (
        &[
            "-A",
            "--address",
            "--align",
            "-C",
            "--config",
            "-D",
            "--daemon",
            "-i",
            "--interval",
            "-F",
            "--flush",
            "-r",
            "--rolllogs",
            "--rawtoo",
            "--runas",
        ],
        Where::Play,
        "it is one of whit record",
    ),
    (
        &[
            "-c",
            "--count",
            "-R",
            "--runtime",
            "--comment",
            "--nohup",
            "--pname",
            "--rawdskfilt",
            "--rawdskfilter",
            "--rawdskignore",
            "--rawnetfilt",
            "--rawnetfilter",
            "--rawnetignore",
        ],
        Where::Play,
        "it is one of whit record, and collectl does nothing with it in playback",
    ),
    (
        &["--tworaw", "-G", "--group"],
        Where::Both,
        "one recording holds everything, and play skips what it need not read",
    ),
    (&["--utime"], Where::Both, "each sample carries the cost of its own reads; see -s w"),
    (&["--import"], Where::Both, "collectl's Perl modules cannot be loaded"),
    (&["-L", "--lustsvcs", "--lustsvc", "--lustopts"], Where::Both, "Lustre is not supported"),
    (&["-d", "--debug"], Where::Both, "whit doctor shows what is read and what it costs"),
    (
        &["--envrules"],
        Where::Record,
        "sensors are read from the kernel, not from ipmitool; --envremap changes their names",
    ),
    (
        &["--envtest", "--envdebug"],
        Where::Both,
        "sensors are read from the kernel, not from ipmitool; --envfilt chooses among them",
    ),
    (
        &["--showsubsys", "--showoptions", "--showsubopts"],
        Where::Both,
        "--help lists every switch and every subsystem",
    ),
    (
        &["-x", "--helpext", "--helpextend", "-X", "--helpall", "--whatsnew"],
        Where::Both,
        "--help lists every switch and every subsystem",
    ),
    (
        &["-V", "--showdefs"],
        Where::Both,
        "--help names the defaults, and whit doctor the files that are read",
    ),
    (&["-v", "--version"], Where::Both, "it is whit --version"),
    (&["--showslabaliases", "--showrootslabs"], Where::Both, "slabs go by the kernel's names"),
];

/// Switches that collectl takes in playback without an effect, and whether a value follows.
const IDLE_IN_PLAYBACK: &[(&str, bool)] = &[
    ("-c", true),
    ("--count", true),
    ("-R", true),
    ("--runtime", true),
    ("--comment", true),
    ("--nohup", false),
    ("--pname", true),
    ("--tworaw", false),
    ("--rawdskfilt", true),
    ("--rawdskfilter", true),
    ("--rawdskignore", true),
    ("--rawnetfilt", true),
    ("--rawnetfilter", true),
    ("--rawnetignore", true),
];

/// Why a switch is not one of `whit record`, or of `whit play`; `None` for all others.
#[must_use]
pub fn refusal(given: &str, plays: bool) -> Option<&'static str> {
    let here = if plays { Where::Play } else { Where::Record };
    let applies = |place: Where| place == Where::Both || place == here;
    let is_it =
        |(names, place, _): &&(&[&str], Where, &str)| applies(*place) && names.contains(&given);
    REFUSED.iter().find(is_it).map(|(.., why)| *why)
}

/// What `collectl -v` prints: the release whose switches and columns are taken, which programs such as
/// colmux look for, then what answers.
#[must_use]
pub fn version() -> String {
    format!("collectl V4.3.1 (whit {})\n", env!("CARGO_PKG_VERSION"))
}

/// Every name of a switch that a verb refuses.
pub fn refused() -> impl Iterator<Item = &'static str> {
    REFUSED.iter().flat_map(|(names, ..)| names.iter().copied())
}

/// A command line of collectl's playback without the switches that have no effect there.
pub fn without_idle(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        let name = text.split_once('=').map_or(&*text, |(name, _)| name);
        // `-c5` has its value in the same word.
        let is_it = |(switch, takes_value): &&(&str, bool)| {
            *switch == name || *takes_value && switch.len() == 2 && text.starts_with(switch)
        };
        match IDLE_IN_PLAYBACK.iter().find(is_it) {
            Some((switch, true)) if *switch == text => drop(arguments.next()),
            Some(_) => {}
            None => kept.push(argument),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_effect_goes_with_its_value() {
        let left = |line: &str| {
            let kept = without_idle(line.split(' ').map(OsString::from));
            kept.join(" ".as_ref()).into_string().unwrap()
        };
        assert_eq!(left("-p x -sc -c 5 -oT"), "-p x -sc -oT");
        assert_eq!(left("-c5 -R 1d -p x --count=3 --nohup -P"), "-p x -P");
        assert_eq!(left("--comment -sd -p x"), "-p x", "a value, whatever it begins with");
        assert_eq!(left("-p x --cpufilt 0 -c"), "-p x --cpufilt 0");
        assert_eq!(left("-p x --rawdskfilt sd --tworaw"), "-p x");
    }

    #[test]
    fn what_collectl_ignores_is_refused_by_the_verb() {
        assert!(IDLE_IN_PLAYBACK.iter().all(|(name, _)| refusal(name, true).is_some()));
    }
}
