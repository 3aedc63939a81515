//! The command line as a template: replacement strings, and what they become for each job.
//!
//! A template is parsed once ([`Template::parse`]) and rendered for each job, as text for a shell
//! ([`Template::render`]) or as the words of a program's arguments ([`Template::render_words`]).
//! The built-in strings (`{}`, `{.}`, `{/}`, `{//}`, `{/.}`, `{#}`, `{%}`, with or without a
//! position) are slices of the values: rendering them allocates nothing once the buffers are warm.

mod direct;
mod expression;
mod parse;
mod plus;
mod render;
mod strings;
mod value;

use crate::job::Record;
use crate::quote::{self, Shell};
use crate::shell::Reason;

pub(crate) use direct::first_word;
use parse::{Piece, Position, Replacement};
use render::{Line, QuotedLine};
use strings::What;
use value::Cut;

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
    /// No argument can be as long.
    #[error("the command is {bytes} bytes long, at most {most} can be: put it into a script")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// What is allowed.
        most: usize,
    },
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
    /// [`Context::total`] is missing although [`Template::needs_total`] asked for it.
    #[error("the number of all jobs is not known")]
    NoTotal,
    /// The template is one that only a shell can read ([`crate::shell::needed`]).
    #[error("the command needs a shell: {0}")]
    NeedsShell(Reason),
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

    pub(crate) fn end_word(&mut self) {
        self.ends.push(self.bytes.len());
        self.bytes.push(0);
    }
}

/// A command line with replacement strings.
#[derive(Clone, Debug)]
pub struct Template {
    pieces: Vec<Piece>,
    /// Values are put in as they are: the command begins with a replacement string.
    is_unquoted: bool,
    /// What `{}` is, for a command that gets one appended.
    value: Option<What>,
    /// `-q`, and the shell it is for.
    quote_command: Option<Shell>,
    /// How often the line is quoted again.
    shell_quote: u32,
    shell: Shell,
    /// The pieces as a program's words would be made of them, where no shell is needed for that.
    plain: Result<Vec<Piece>, Reason>,
}

impl Default for Template {
    fn default() -> Self {
        Template {
            pieces: Vec::new(),
            is_unquoted: false,
            value: None,
            quote_command: None,
            shell_quote: 0,
            shell: Shell::default(),
            plain: Err(Reason::NoCommand),
        }
    }
}

impl Template {
    /// Parses the command's words, which are joined by blanks.
    pub fn parse(words: &[Vec<u8>], syntax: &Syntax) -> Result<Self, TemplateError> {
        let mut template = Template {
            pieces: parse::pieces(words, syntax)?,
            value: strings::own_value(syntax)?,
            quote_command: syntax.quote_command.then_some(syntax.shell),
            shell_quote: syntax.shell_quote,
            shell: syntax.shell,
            ..Template::default()
        };
        template.settle();
        Ok(template)
    }

    /// Whether there is no command at all: each record is a command line then.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Whether a replacement string stands in it, be it of a value or of the job.
    pub fn has_values(&self) -> bool {
        self.replacements().next().is_some()
    }

    /// Adds ` {}`, or `{}` alone to an empty template (whose values are then not quoted).
    pub fn append_value(&mut self) {
        if !self.pieces.is_empty() {
            let blank = Piece::Blank(b" ".to_vec());
            self.pieces.push(if self.quote_command.is_some() { Piece::Join } else { blank });
        }
        let what = self.value.clone().unwrap_or(What::Value(Cut::Whole));
        self.pieces.push(Piece::Value(Replacement { what, position: Position::All }));
        self.settle();
    }

    /// Whether the text depends on the slot: it must be rendered anew when a retry changes it.
    pub fn needs_slot(&self) -> bool {
        self.replacements().any(|replacement| match &replacement.what {
            What::Slot(_) => true,
            What::Expression(program) => program.needs_slot,
            _ => false,
        })
    }

    /// Whether the number of all jobs must be known before the first is rendered.
    pub fn needs_total(&self) -> bool {
        self.replacements().any(|replacement| match &replacement.what {
            What::Total => true,
            What::Seq(number) => number.width == strings::Width::Largest,
            What::Expression(program) => program.needs_total,
            _ => false,
        })
    }

    /// Appends the command line to `out`.
    pub fn render(
        &self,
        context: &Context<'_>,
        values: Values,
        out: &mut Vec<u8>,
    ) -> Result<Flow, RenderError> {
        let start = out.len();
        let flow = match (values, self.quote_command) {
            (Values::Quoted(_), Some(shell)) => render::with_unquoted(|word| {
                let mut line = QuotedLine { out: &mut *out, word, shell };
                let flow = render::walk(&self.pieces, context, &mut line)?;
                line.end_word();
                Ok(flow)
            })?,
            (Values::Quoted(shell), None) => {
                let shell = (!self.is_unquoted).then_some(shell);
                render::walk(&self.pieces, context, &mut Line { out, shell })?
            }
            (Values::Bare, _) => {
                render::walk(&self.pieces, context, &mut Line { out, shell: None })?
            }
        };
        for _ in 0..self.shell_quote {
            render::with_unquoted(|line| {
                line.extend_from_slice(&out[start..]);
                out.truncate(start);
                quote::quote(self.shell, line, out);
            });
        }
        Ok(flow)
    }

    /// How long the command line would be, in bytes, for `-s`, `-X` and `-m`.
    pub fn rendered_len(
        &self,
        context: &Context<'_>,
        values: Values,
    ) -> Result<usize, RenderError> {
        render::with_measured(|line| {
            self.render(context, values, line)?;
            Ok(line.len())
        })
    }

    /// Replaces `words` by the arguments that a shell would have made of the command line.  Only
    /// for templates that need no shell ([`crate::shell::needed`]).
    pub fn render_words(
        &self,
        context: &Context<'_>,
        words: &mut Words,
    ) -> Result<Flow, RenderError> {
        direct::render(self, context, words)
    }

    fn replacements(&self) -> impl Iterator<Item = &Replacement> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Value(replacement) => Some(replacement),
            _ => None,
        })
    }

    /// Sees whether the command begins with a replacement string: its first word has one, and no
    /// `=` before it.  Values are then part of the program that a shell is to read.
    fn settle(&mut self) {
        self.is_unquoted = match self.pieces.as_slice() {
            [Piece::Value(_), ..] => true,
            [Piece::Text(text), Piece::Value(_), ..] => !text.contains(&b'='),
            _ => false,
        };
        let is_quoted = self.quote_command.is_some();
        self.is_unquoted &= !is_quoted;
        self.plain = match self.is_unquoted {
            true => Err(Reason::StartsWithValue),
            false => direct::plain(&self.pieces, is_quoted),
        };
    }
}
