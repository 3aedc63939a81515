//! Checks the first sample for sources that cannot be read, so that the user knows at once.

use std::sync::Arc;

use layout::Selection;
use sample::{Snapshot, SourceDef, State};
use source::SourceContext;

/// The source whose rows are processes, and the one whose rows are processes that exited.
const PROCESSES: &str = "process";
const ENDS: &str = "exit";

/// The check of the first sample.
pub struct FirstSampleCheck {
    /// The sources of the snapshot.
    pub defs: Vec<Arc<SourceDef>>,
    /// The user's selection.  A source that this machine lacks is mentioned only if it is selected
    /// here; one that may not be read is always mentioned.
    pub named: Selection,
    /// What the sources report about themselves.
    pub context: Arc<SourceContext>,
}

impl FirstSampleCheck {
    /// A sentence for each source that cannot be read, or only in a slower or less complete way.
    pub(crate) fn sentences(&self, snapshot: &Snapshot) -> Vec<String> {
        let mut sentences = Vec::new();
        let way = self.missing_capability(snapshot);
        for (def, sample) in self.defs.iter().zip(&snapshot.samples) {
            if def.name == ENDS && way.is_some() {
                continue;
            }
            let what = match sample.state {
                State::Absent if self.named.asks_for(def) => "this machine has none",
                State::Denied => "it may not be read by this user",
                State::Failed(_) => "it cannot be read",
                _ => continue,
            };
            let why = self.context.shared.refusals.of(&def.name);
            let what = why.as_deref().unwrap_or(what);
            sentences.push(format!("-s {}: {}: {what}; see whit doctor", def.selector(), def.name));
        }
        sentences.extend(way);
        sentences
    }

    /// Whether no source can be read, and not only for want of hardware that many machines lack.
    pub(crate) fn has_nothing(&self, snapshot: &Snapshot) -> bool {
        let sources = self.defs.iter().zip(&snapshot.samples);
        let mut asked = sources.filter(|(def, _)| def.name != source::OWN_SOURCE);
        asked.clone().all(|(_, sample)| sample.state != State::Ok)
            && asked.any(|(def, _)| source::hardware_of(&def.name).is_none())
    }

    /// A sentence if processes are not read by BPF because a capability is missing, or because of a
    /// PID namespace or a limit of memory, which the user can change.  `whit doctor` shows other
    /// reasons.
    fn missing_capability(&self, snapshot: &Snapshot) -> Option<String> {
        let reason = self.context.shared.processes.method_reason();
        let sample = |name| {
            let index = self.defs.iter().position(|def| def.name == name)?;
            Some(&snapshot.samples[index])
        };
        let processes = sample(PROCESSES)?;
        if processes.state != State::Ok
            || !["CAP_", "namespace", "of memory"].iter().any(|word| reason.contains(word))
        {
            return None;
        }
        let no_ends = sample(ENDS).is_some_and(|sample| sample.state == State::Absent);
        let ends = if no_ends { ", and their exits are not recorded" } else { "" };
        Some(format!("-s Z: processes are read from /proc{ends}: {reason}; see whit doctor"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_of_which_nothing_can_be_read_is_recognised() {
        let has_nothing = |names: &[(&str, State)]| {
            let def = |name: &str| source::find(name).unwrap().def().shared();
            let defs: Vec<Arc<SourceDef>> = names.iter().map(|(name, _)| def(name)).collect();
            let mut snapshot = Snapshot::new(&defs);
            for (sample, (_, state)) in snapshot.samples.iter_mut().zip(names) {
                sample.state = *state;
            }
            let context = Arc::default();
            FirstSampleCheck { defs, named: "c".into(), context }.has_nothing(&snapshot)
        };
        let own = (source::OWN_SOURCE, State::Ok);
        assert!(has_nothing(&[("cpu", State::Absent), ("memory", State::Failed(24)), own]));
        assert!(!has_nothing(&[("cpu", State::Absent), ("memory", State::Ok), own]));
        assert!(!has_nothing(&[("environment", State::Absent), own]));
        assert!(!has_nothing(&[own]));
    }

    #[test]
    fn a_missing_capability_is_said_once_and_nothing_else() {
        let defs: Vec<Arc<SourceDef>> =
            ["exit", "process"].map(|name| source::find(name).unwrap().def().shared()).to_vec();
        let mut snapshot = Snapshot::new(&defs);
        snapshot.samples[0].state = State::Absent;
        snapshot.samples[1].state = State::Ok;
        let sentences = |reason: &str, snapshot: &Snapshot| {
            let context = Arc::new(SourceContext::default());
            context.shared.processes.set_method_reason(reason);
            let check = FirstSampleCheck { defs: defs.clone(), named: "Z".into(), context };
            check.sentences(snapshot)
        };
        let texts = sentences("not allowed (CAP_BPF is needed)", &snapshot);
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(texts[0].contains("exits are not recorded: not allowed (CAP_BPF"), "{texts:?}");
        let texts = sentences("in a PID namespace of its own", &snapshot);
        assert!(texts.len() == 1 && texts[0].contains("namespace"), "{texts:?}");
        let texts = sentences("no BTF of this kernel", &snapshot);
        assert!(texts.len() == 1 && texts[0].contains("exit: this machine has none"), "{texts:?}");
        snapshot.samples[0].state = State::Ok;
        assert_eq!(sentences("", &snapshot), Vec::<String>::new());
    }
}
