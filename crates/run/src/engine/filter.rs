//! Jobs that are left out by a condition (`--filter`).
//!
//! The replacement strings of the condition are filled in without quoting, and the result is parsed
//! as an expression: `{1} < {2}` becomes `3 < 5`.  So a string needs quotes: `"{}" ne "x"`.

use super::*;
use template::{Syntax, TemplateError};

/// Delimiters of the expression: bytes that no command line contains.
const OPEN: u8 = 1;
const CLOSE: u8 = 2;

/// A condition that cannot be parsed once it is filled in.
#[derive(Debug, thiserror::Error)]
#[error("--filter {text:?} of job {seq} is not a valid condition: {error}")]
pub struct FilterError {
    seq: u64,
    text: String,
    error: TemplateError,
}

/// Whether the condition of a job holds.
fn holds(text: &[u8], context: &Context<'_>) -> Result<bool, EngineError> {
    let code = [&[OPEN, b'('], text, b") or skip()", &[CLOSE]].concat();
    let syntax = Syntax { parens: Some((vec![OPEN], vec![CLOSE])), ..Syntax::default() };
    let template = Template::parse(&[code], &syntax).map_err(|error| FilterError {
        seq: context.seq,
        text: String::from_utf8_lossy(text).into_owned(),
        error,
    })?;
    Ok(template.render(context, Values::Bare, &mut Vec::new())? == Flow::Run)
}

impl<W: OperatingSystem> Engine<'_, W> {
    /// Whether a condition excludes a job.
    pub(super) fn is_filtered(&self, job: &Job) -> Result<bool, EngineError> {
        let mut text = Vec::new();
        for filter in &self.options.filters {
            self.bare(Some(filter), job, &mut text)?;
            if !holds(&text, &self.context(job))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use template::Packing;
    use template::Record;

    #[test]
    fn conditions_are_expressions_of_what_was_filled_in() {
        let records = [Record::of("7")];
        let context = Context {
            seq: 3,
            slot: 1,
            slots: 1,
            total: None,
            records: &records,
            packing: Packing::One,
            local_time_s: 0,
        };
        for (text, expected) in [
            ("3 < 5", true),
            ("5 < 3", false),
            ("\"a b\" ne \"c\"", true),
            ("0", false),
            ("1 < 2 and 2 < 1", false),
        ] {
            assert_eq!(holds(text.as_bytes(), &context).unwrap(), expected, "{text}");
        }
        let error = holds(b"3 <", &context).unwrap_err().to_string();
        assert!(error.contains("--filter \"3 <\" of job 3"), "{error}");
    }
}
