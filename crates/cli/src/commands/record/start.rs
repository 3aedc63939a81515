//! The line with which a recording begins: what is recorded, what is not, and where.

use layout::Selection;
use recorder::{Outputs, RecordingFile};

use super::RecordArguments;

/// The line; `None` if nothing is written to a recording.  What is not recorded is told unless `-s`
/// chose: then it is known.
pub(super) fn line(
    arguments: &RecordArguments,
    recorded: &Selection,
    interval_ns: u64,
    outputs: &Outputs,
) -> Option<String> {
    let path = outputs.recording.as_ref().map(RecordingFile::path)?;
    let every = match interval_ns {
        0 => "as often as possible".to_owned(),
        every_ns => format!("every {} s", every_ns as f64 / 1e9),
    };
    let mut line = format!("recording -s {recorded} to {} {every}", path.display());
    let missing = missing(recorded);
    if arguments.display.subsystems.is_none() && !missing.is_empty() {
        let more = match arguments.display.is_everything() {
            true => "--ALL has most of it, -s what it names",
            false => "-s +LETTERS adds to what is recorded without -s",
        };
        line = format!("{line}; not recorded: {}; {more}", missing.join(", "));
    }
    Some(line)
}

/// What a selection leaves out, by name and letter; sources of the same letters stand together.
fn missing(recorded: &Selection) -> Vec<String> {
    let mut missing: Vec<(&str, String)> = Vec::new();
    for entry in source::ALL.iter().filter(|entry| !entry.asked_by(recorded)) {
        if entry.name == source::OWN_SOURCE {
            continue;
        }
        let mut same = missing.iter_mut().filter(|(letters, _)| !letters.is_empty());
        match same.find(|(letters, _)| *letters == entry.letters) {
            Some((_, names)) => names.push_str(&format!("/{}", entry.name)),
            None => missing.push((entry.letters, entry.name.to_owned())),
        }
    }
    let shown = |(letters, names): (&str, String)| match letters {
        "" => names,
        letters => format!("{names} ({letters})"),
    };
    missing.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_named_once() {
        let missing = missing(&"cdn".into());
        let has = |text: &str| missing.iter().filter(|one| one.contains(text)).count();
        assert_eq!(
            (has("exit/process/process_total (Z)"), has("(Z)"), has("slab (yY)"), has("log")),
            (1, 1, 1, 1)
        );
        assert_eq!((has("disk"), has("network"), has("whit")), (0, 0, 0), "{missing:?}");
    }
}
