//! The command line as a template: replacement strings, and what they become for each job.
//!
//! A template is parsed once ([`Template::parse`]) and rendered for each job, as text for a shell
//! ([`Template::render`]) or as the words of a program's arguments ([`Template::render_words`]).
//! The built-in strings (`{}`, `{.}`, `{/}`, `{//}`, `{/.}`, `{#}`, `{%}`, with or without a
//! position) are slices of the values: rendering them allocates nothing once the buffers are warm.

use std::fmt;

use crate::job::Record;
use crate::quote::Shell;

/// How replacement strings are written: what the options that change them have asked for.
#[derive(Clone, Debug, Default)]
pub struct Syntax {
    /// `--plus`: more replacement strings.
    pub plus: bool,
    /// `--parens`: what stands before and after an expression; `{=` and `=}` without it.  Both
    /// halves of the option's argument.
    pub parens: Option<(Vec<u8>, Vec<u8>)>,
    /// `--rpl`: a tag and what it computes, in the order given.
    pub rpl: Vec<(Vec<u8>, Vec<u8>)>,
    /// Names of the columns (`--header`): `{name}` stands for the first source when it is the
    /// first name, and so on.
    pub names: Vec<Vec<u8>>,
    /// Other names for the built-in strings.
    pub renames: Renames,
    /// `-q`: the command's own words are quoted.
    pub quote_command: bool,
    /// The language of the shell that will run the command, for `quote_command`.
    pub shell: Shell,
    /// `--shell-quote`: the command is only printed, quoted so many times.
    pub shell_quote: u32,
}

/// Other names for the built-in replacement strings; `None` leaves a name as it is.
#[derive(Clone, Debug, Default)]
pub struct Renames {
    /// `-I`: for `{}`.
    pub value: Option<Vec<u8>>,
    /// `--er`, `--extensionreplace`: for `{.}`.
    pub without_extension: Option<Vec<u8>>,
    /// `--bnr`, `--basenamereplace`: for `{/}`.
    pub base_name: Option<Vec<u8>>,
    /// `--dnr`, `--dirnamereplace`: for `{//}`.
    pub directory: Option<Vec<u8>>,
    /// `--bner`, `--basenameextensionreplace`: for `{/.}`.
    pub base_name_without_extension: Option<Vec<u8>>,
    /// `--seqreplace`: for `{#}`.
    pub seq: Option<Vec<u8>>,
    /// `--slotreplace`: for `{%}`.
    pub slot: Option<Vec<u8>>,
}

/// How the values of several records, or of a record of several values, share one command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// One record for each job: `{}` is all its values, with blanks between them.
    #[default]
    One,
    /// `-m`, `--xargs`: the same over all records.
    Join,
    /// `-X`, `-N`, `-n`: the word that `{}` stands in is repeated for each value.
    Repeat,
}

/// What one job's rendering is made from.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The number of the job, from 1.
    pub seq: u64,
    /// The slot it runs in, from 1.
    pub slot: u32,
    /// How many jobs run at most at the same time: the width of `{0%}`.
    pub slots: u32,
    /// How many jobs there are in all; needed when [`Template::needs_total`].
    pub total: Option<u64>,
    /// The values; empty for `-N0` and `--pipe`.
    pub records: &'a [Record],
    /// How they share the command line.
    pub packing: Packing,
    /// The time of day, seconds since 1970 of the local zone (offset added), for the time
    /// functions of expressions.
    pub local_time_s: i64,
}

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Quoted for a shell of this language.
    Quoted(Shell),
    /// As they are: tags, folders, file names.
    Bare,
}

/// What the template says of the job it was rendered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Run it.
    Run,
    /// An expression called `skip()`: it is not to be started.
    Skip,
}

/// A template that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// An expression asks for something that is not offered.
    #[error("{0}")]
    Expression(String),
}

/// A job whose command line cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// An argument of a program ends at a NUL byte.
    #[error("a value of job {seq} contains a NUL byte, which no argument can hold")]
    Nul {
        /// The job's number.
        seq: u64,
    },
    /// The expression failed for this job's values.
    #[error("{0}")]
    Expression(String),
}

/// Words for a program: one buffer, each word ended by a NUL, as execve(2) wants them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    bytes: Vec<u8>,
    /// Where each word ends: the place of its NUL.
    ends: Vec<usize>,
}

impl Words {
    /// Forgets the words and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The words, without their NULs.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).map(|index| &self.bytes[self.start(index)..self.ends[index]])
    }

    /// Where in [`Words::bytes`] a word begins; it goes on to its NUL.
    pub fn start(&self, index: usize) -> usize {
        if index == 0 { 0 } else { self.ends[index - 1] + 1 }
    }

    /// All words, each followed by a NUL.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a word.
    pub fn push(&mut self, word: &[u8]) {
        self.bytes.extend_from_slice(word);
        self.end_word();
    }

    fn end_word(&mut self) {
        self.ends.push(self.bytes.len());
        self.bytes.push(0);
    }
}

/// A command line with replacement strings.
#[derive(Clone, Default)]
pub struct Template {
    text: Vec<u8>,
}

impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Template({})", String::from_utf8_lossy(&self.text))
    }
}

impl Template {
    /// Parses the command's words, which are joined by blanks.
    pub fn parse(words: &[Vec<u8>], _syntax: &Syntax) -> Result<Self, TemplateError> {
        Ok(Template { text: words.join(&b' ') })
    }

    /// Whether there is no command at all: each record is a command line then.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether a value, of whatever position, stands in it.
    pub fn has_values(&self) -> bool {
        false
    }

    /// Adds ` {}`, or `{}` alone to an empty template (whose values are then not quoted).
    pub fn append_value(&mut self) {}

    /// Whether the text depends on the slot: it must be rendered anew when a retry changes it.
    pub fn needs_slot(&self) -> bool {
        false
    }

    /// Whether the number of all jobs must be known before the first is rendered.
    pub fn needs_total(&self) -> bool {
        false
    }

    /// Appends the command line to `out`.
    pub fn render(
        &self,
        _context: &Context<'_>,
        _values: Values,
        out: &mut Vec<u8>,
    ) -> Result<Flow, RenderError> {
        out.extend_from_slice(&self.text);
        Ok(Flow::Run)
    }

    /// How long the command line would be, in bytes, for `-s`, `-X` and `-m`.
    pub fn rendered_len(
        &self,
        _context: &Context<'_>,
        _values: Values,
    ) -> Result<usize, RenderError> {
        Ok(self.text.len())
    }

    /// Replaces `words` by the arguments that a shell would have made of the command line.  Only
    /// for templates that need no shell ([`crate::shell::needed`]).
    pub fn render_words(
        &self,
        _context: &Context<'_>,
        words: &mut Words,
    ) -> Result<Flow, RenderError> {
        words.clear();
        Ok(Flow::Run)
    }
}
