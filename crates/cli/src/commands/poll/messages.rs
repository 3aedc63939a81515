//! Messages of a poller: to standard error, or with the time to the file of `--logging`.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use recorder::{MessageLog, Severity};
use sample::Moment;

/// Where messages go.
#[derive(Clone)]
pub(super) struct Messages {
    log: Option<Arc<File>>,
}

impl Messages {
    /// Opens the log, if there is one; without it, which is said, messages go to standard error.
    pub(super) fn open(path: Option<&Path>) -> Self {
        let open = |path: &Path| OpenOptions::new().create(true).append(true).open(path);
        let opened = path.map(|path| open(path).map_err(|error| (path, error))).transpose();
        let (log, failed) = match opened {
            Ok(log) => (log, None),
            Err(failed) => (None, Some(failed)),
        };
        let messages = Messages { log: log.map(Arc::new) };
        if let Some((path, error)) = failed {
            messages.say(&format!("WARNING: cannot write the log {}: {error}", path.display()));
        }
        messages
    }

    /// Writes a message with the time.
    pub(super) fn say(&self, text: &str) {
        let now = jiff::Timestamp::now().to_zoned(crate::zone::local());
        let text = format!("{}: {text}", now.strftime("%Y-%m-%d %H:%M:%S"));
        match self.log.as_deref() {
            None => crate::stderr::line(text),
            Some(mut log) => {
                let line = format!("{}\n", layout::text::escape_message(&text));
                // Nowhere is left where this error could be reported.
                let _ = log.write_all(line.as_bytes());
            }
        }
    }

    /// Writes what is wrong with a configuration.
    pub(super) fn problems(&self, problems: &[poll::ConfigProblem]) {
        for problem in problems {
            match &self.log {
                None => crate::stderr::line(problem),
                Some(_) => self.say(&problem.to_string()),
            }
        }
    }
}

impl MessageLog for Messages {
    fn log(&self, _now: Moment, severity: Severity, text: &str) {
        match severity {
            Severity::Information => {}
            Severity::Warning => self.say(&format!("WARNING: {text}")),
            Severity::Error => self.say(&format!("ERROR: {text}")),
        }
    }
}
