//! Stub.
use regex::bytes::Regex;

use super::{Context, RenderError, TemplateError};

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) position: Option<i32>,
    pub(crate) is_of_job: bool,
    pub(crate) unquotes: bool,
    pub(crate) needs_slot: bool,
    pub(crate) needs_total: bool,
}

#[derive(Default)]
pub(crate) struct Scope;

pub(crate) struct Verdict {
    pub(crate) skip: bool,
    pub(crate) unquoted: bool,
}

impl Program {
    pub(crate) fn parse(_code: &[u8], _groups: &[Vec<u8>]) -> Result<Self, TemplateError> {
        Err(TemplateError::Expression("expressions".to_owned()))
    }
    pub(crate) fn run(
        &self,
        _scope: &mut Scope,
        _context: &Context<'_>,
        _value: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Verdict, RenderError> {
        Err(RenderError::NoTotal)
    }
}

pub(crate) fn pattern(parts: &[&[u8]]) -> Result<Regex, TemplateError> {
    let joined = parts.concat();
    let text = String::from_utf8_lossy(&joined);
    Regex::new(&format!("(?-u){text}"))
        .map_err(|error| TemplateError::Expression(format!("{text:?}: {error}")))
}
