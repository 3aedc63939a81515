//! The language of replacement strings: a command line as a template, and its text for each job.
//!
//! A template is parsed once ([`Template::parse`]) and rendered for each job, as text for a shell
//! ([`Template::render`]) or as the arguments of a program ([`Template::render_words`]).
//! The built-in strings (`{}`, `{.}`, `{/}`, `{//}`, `{/.}`, `{#}`, `{%}`, with or without a
//! position) are slices of the values: rendering them allocates nothing once the buffers are warm.
//!
//! [`quote`] writes values so that a shell reads each as one word; [`shell`] decides whether a
//! template needs a shell.
//!
//! Uses nothing of ours and does no I/O.  Begin reading with [`Template::parse`] in this file, then
//! `parse.rs` (the pieces of a command line), `render.rs` (how they are written) and
//! `expression.rs` (the language between `{=` and `=}`).

#![forbid(unsafe_code)]

mod change;
mod direct;
mod expression;
mod measure;
mod parse;
mod perl_process;
mod plus;
pub mod quote;
mod redirect;
mod render;
mod replacement;
pub mod shell;
mod shell_reason;
mod strings;
mod value;

pub use measure::CommandLength;
use parse::LinePart;
pub use perl_process::PerlProcess;
use quote::Shell;
use render::{Line, QuotedLine};
use replacement::{Position, Replacement, What};
use shell::ShellReason;
use value::Cut;

/// How replacement strings are written, as set by options.
#[derive(Clone, Debug, Default)]
pub struct Syntax {
    /// `--plus`: more replacement strings.
    pub plus: bool,
    /// `--parens`: the delimiters of an expression, both halves of the option's argument; `{=` and
    /// `=}` without it.
    pub parens: Option<(Vec<u8>, Vec<u8>)>,
    /// `--rpl`: a tag and its expression, in the order given.
    pub rpl: Vec<(Vec<u8>, Vec<u8>)>,
    /// Names of the columns (`--header`): `{name}` stands for the first source if it is the first
    /// name, and so on.
    pub names: Vec<Vec<u8>>,
    /// The position of a column whose name is empty: `{}`, `{.}`, `{/}`, `{//}`, `{/.}` and
    /// expressions without a position stand for it.
    pub unnamed: Option<i32>,
    /// Other names for the built-in strings.
    pub renames: Renames,
    /// `-q`: quote the words of the command.
    pub quote_command: bool,
    /// The dialect of the shell that runs the command, for `quote_command`.
    pub shell: Shell,
    /// `--shell-quote`: the command is only printed, quoted this many times.
    pub shell_quote: u32,
    /// Runs expressions that are beyond our own language; `None` refuses them.
    pub perl: Option<PerlProcess>,
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
    /// One record for each job: `{}` is all its values, separated by blanks.
    #[default]
    One,
    /// `-n`, `-l`, `-m`, `--xargs`: `{}` is all values of all records.
    Join,
    /// `-X`, `-N`, `-L`: the word that contains `{}` is repeated for each value.
    Repeat,
}

/// What a template is rendered from for one job.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The number of the job, from 1.
    pub seq: u64,
    /// The slot it runs in, from 1.
    pub slot: u32,
    /// How many jobs run at once at most: the width of `{0%}`.
    pub slots: u32,
    /// The total number of jobs; required if [`Template::needs_total`].
    pub total: Option<u64>,
    /// The values; empty for `-N0` and `--pipe`.
    pub records: &'a [Record],
    /// How they share the command line.
    pub packing: Packing,
    /// Local time in seconds since 1970 (UTC plus the zone's offset), for the time functions of
    /// expressions.
    pub local_time_s: i64,
}

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Quoted for a shell of this dialect.
    Quoted(Shell),
    /// Without quotes: tags, directories, file names.
    Bare,
}

/// What an expression requests for the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Run it.
    Run,
    /// An expression called `skip()`: do not start the job.
    Skip,
}

/// Why a template cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The command is longer than any argument can be.
    #[error("the command is {bytes} bytes long, at most {most} can be: put it into a script")]
    TooLong {
        /// The length.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// An expression is invalid or uses an unsupported feature.
    #[error("{0}")]
    Expression(String),
}

/// Why a command line cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A value contains a NUL, which ends an argument.
    #[error("a value of job {seq} contains a NUL byte, which no argument can hold")]
    Nul {
        /// The job's number.
        seq: u64,
    },
    /// [`Context::total`] is missing although [`Template::needs_total`] is true.
    #[error("the total number of jobs is not known")]
    NoTotal,
    /// The template needs a shell ([`shell::needed`]).
    #[error("the command needs a shell: {0}")]
    NeedsShell(ShellReason),
    /// The expression failed for this job's values.
    #[error("{0}")]
    Expression(String),
}

/// One combination of the input sources' values: `{1}`, `{2}` ….  Values are bytes, because file
/// names need not be UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The values, by position; with columns (`--colsep`), those of all sources numbered
    /// consecutively.
    pub values: Vec<Vec<u8>>,
}

impl Record {
    /// A record of one value.
    pub fn of(value: impl Into<Vec<u8>>) -> Self {
        Record { values: vec![value.into()] }
    }
}

/// The words that [`Template::render_words`] wrote, without their NULs.
pub fn words(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split_inclusive(|byte| *byte == 0).map(|word| word.strip_suffix(&[0]).unwrap_or(word))
}

/// A command line with replacement strings.
#[derive(Clone, Debug)]
pub struct Template {
    pieces: Vec<LinePart>,
    /// Values are not quoted, because the command begins with a replacement string.
    is_unquoted: bool,
    /// The meaning of `{}`, for a command to which one is appended.
    value: Option<What>,
    /// Whether one was appended.
    has_appended: bool,
    /// `-q`, and the shell that it is for.
    quote_command: Option<Shell>,
    /// How often the line is quoted again.
    shell_quote: u32,
    shell: Shell,
    /// The pieces of the arguments, if no shell is needed.
    plain: Result<Vec<LinePart>, ShellReason>,
}

impl Default for Template {
    fn default() -> Self {
        Template {
            pieces: Vec::new(),
            is_unquoted: false,
            value: None,
            has_appended: false,
            quote_command: None,
            shell_quote: 0,
            shell: Shell::default(),
            plain: Err(ShellReason::NoCommand),
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
        template.detect_unquoted();
        Ok(template)
    }

    /// Whether there is no command: each record is then a command line.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Whether the template contains a replacement string, of a value or of the job.
    pub fn has_values(&self) -> bool {
        self.replacements().next().is_some()
    }

    /// Appends ` {}`, or only `{}` to an empty template (whose values are then not quoted).
    pub fn append_value(&mut self) {
        if !self.pieces.is_empty() {
            let blank = LinePart::Blank(b" ".to_vec());
            self.pieces.push(if self.quote_command.is_some() { LinePart::Join } else { blank });
        }
        let what = self.value.clone().unwrap_or(What::Value(Cut::Whole));
        self.pieces.push(LinePart::Value(Replacement { what, position: Position::All }));
        self.has_appended = true;
        self.detect_unquoted();
    }

    /// Whether the text depends on the slot, so that a retry in another slot must render it again.
    pub fn needs_slot(&self) -> bool {
        self.replacements().any(|replacement| match &replacement.what {
            What::Slot(_) => true,
            What::Expression(program) => program.needs_slot,
            _ => false,
        })
    }

    /// Whether Perl runs an expression of it: rendered again after another job it may be another
    /// text, because variables keep their values.
    pub fn runs_perl(&self) -> bool {
        self.replacements().any(|replacement| match &replacement.what {
            What::Expression(program) => program.is_of_perl(),
            _ => false,
        })
    }

    /// Whether the total number of jobs must be known before the first is rendered.
    pub fn needs_total(&self) -> bool {
        self.replacements().any(|replacement| match &replacement.what {
            What::Total => true,
            What::Seq(number) => number.width == replacement::Width::Largest,
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

    /// The length of the command line in bytes.
    pub fn rendered_len(
        &self,
        context: &Context<'_>,
        values: Values,
    ) -> Result<usize, RenderError> {
        self.with_rendered(context, values, <[u8]>::len)
    }

    /// What `look` finds in the command line.
    pub fn with_rendered<T>(
        &self,
        context: &Context<'_>,
        values: Values,
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, RenderError> {
        render::with_measured(|line| {
            self.render(context, values, line)?;
            Ok(look(line))
        })
    }

    /// Measures packed command lines for `-s`; `others` are the templates of the tag and the
    /// directories.
    pub fn measure(&self, others: &[&Template], packing: Packing, shell: Shell) -> CommandLength {
        CommandLength::new(self, others, packing, shell)
    }

    /// Replaces `words` by the arguments that a shell would make of the command line, each with a
    /// NUL. Only for templates that need no shell ([`shell::needed`]).
    pub fn render_words(
        &self,
        context: &Context<'_>,
        words: &mut Vec<u8>,
    ) -> Result<Flow, RenderError> {
        direct::render(self, context, words)
    }

    fn replacements(&self) -> impl Iterator<Item = &Replacement> {
        self.pieces.iter().filter_map(|piece| match piece {
            LinePart::Value(replacement) => Some(replacement),
            _ => None,
        })
    }

    /// Detects whether the command begins with a replacement string: its first word has one,
    /// without a `=` before it.  Values are then part of the program that a shell reads.
    fn detect_unquoted(&mut self) {
        self.is_unquoted = match self.pieces.as_slice() {
            [LinePart::Value(_), ..] => true,
            [LinePart::Text(text), LinePart::Value(_), ..] => !text.contains(&b'='),
            _ => false,
        };
        let is_quoted = self.quote_command.is_some();
        self.is_unquoted &= !is_quoted;
        self.plain = match self.is_unquoted {
            true => Err(ShellReason::StartsWithValue),
            false => direct::plain(&self.pieces, is_quoted),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(command: &str, syntax: &Syntax) -> Result<Template, TemplateError> {
        Template::parse(&[command.as_bytes().to_vec()], syntax)
    }

    fn context(records: &[Record]) -> Context<'_> {
        Context {
            seq: 7,
            slot: 2,
            slots: 12,
            total: None,
            records,
            packing: Packing::One,
            // 2024-02-29 23:59:58.
            local_time_s: 1_709_251_198,
        }
    }

    fn render(command: &str, value: &str, values: Values) -> Result<(String, Flow), RenderError> {
        let syntax = Syntax { plus: true, ..Syntax::default() };
        let records = [Record::of(value)];
        let mut out = Vec::new();
        let flow = parse(command, &syntax).unwrap().render(&context(&records), values, &mut out)?;
        Ok((String::from_utf8(out).unwrap(), flow))
    }

    #[test]
    fn what_is_not_offered_is_refused_by_name() {
        for (expression, name) in [
            ("system(\"rm\")", "`system` is not supported"),
            ("for $x (1) { }", "`for` is not supported"),
            ("$_ = rand()", "`rand` is not supported"),
            ("hash($_)", "`hash` is not supported"),
            ("$_ = `ls`", "this is not supported"),
            ("s/a/b/2", "an operator or `;` is missing"),
            ("s/a/b/k", "the flag `k` is not supported"),
            ("s/a/b", "its closing delimiter is missing"),
            ("s/(?=a)/b/", "look-around"),
            ("1 = 2", "cannot be assigned to"),
            ("$_ = sprintf()", "takes 1 to"),
            ("$opt::x = 1", "this variable is not supported"),
            ("$_ = 1 ..", "not supported"),
        ] {
            let error = parse(&format!("e {{= {expression} =}}"), &Syntax::default());
            let error = error.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(name), "{expression}: {error}");
        }
        let deep = format!("e {{= $_ = {}1{} =}}", "(".repeat(5000), ")".repeat(5000));
        assert!(parse(&deep, &Syntax::default()).is_err());
        let deep = format!("e {{= $_ = {}1 =}}", "-".repeat(5000));
        assert!(parse(&deep, &Syntax::default()).is_err());
        let long = "x".repeat(1 << 18);
        assert!(matches!(parse(&long, &Syntax::default()), Err(TemplateError::TooLong { .. })));
    }

    #[test]
    fn jobs_whose_expression_fails_say_so() {
        for (command, why) in [
            ("e {= $_ = 1 / 0 =}", "job 7: an expression divides by zero"),
            ("e {= $_ = 'x' x 1e9 =}", "longer than any argument"),
            ("e {= $_ = sprintf('%9999999d', 1) =}", "longer than any argument"),
            ("e {= $_ = log(0) =}", "has none"),
            ("e {= $x = '('; s/$x/b/ =}", "is invalid"),
            ("e {##}", "the total number of jobs is not known"),
        ] {
            let error = render(command, "a", Values::Bare).unwrap_err().to_string();
            assert!(error.contains(why), "{command}: {error}");
        }
    }

    #[test]
    fn jobs_can_be_skipped_and_values_left_bare() {
        let skipped = render("e {= if ($_ eq 'b') { skip() } =}", "b", Values::Bare).unwrap();
        assert_eq!(skipped, ("e b".to_owned(), Flow::Skip));
        let run = render("{/}:{#:%03d}:{%:%3d} {}", "a/b c", Values::Bare).unwrap();
        assert_eq!(run, ("b c:007:  2 a/b c".to_owned(), Flow::Run));
        let line = render("e {seq-1} {slot-1} {0%}", "", Values::Quoted(Shell::Bourne)).unwrap();
        assert_eq!(line.0, "e 6 1 02");
        let time = "e {= $_=yyyy_mm_dd_hh_mm_ss() =} {= $_=hhmm().yyyymmdd() =}";
        assert_eq!(render(time, "", Values::Bare).unwrap().0, "e 2024-02-29T23:59:58 235920240229");
    }

    #[test]
    fn templates_tell_what_they_need() {
        let needs = |command: &str| {
            let template = parse(command, &Syntax { plus: true, ..Syntax::default() }).unwrap();
            (template.has_values(), template.needs_slot(), template.needs_total())
        };
        assert_eq!(needs("e x"), (false, false, false));
        assert_eq!(needs("e {#}"), (true, false, false));
        assert_eq!(needs("e {%}"), (true, true, false));
        assert_eq!(needs("e {= $_ = slot() =}"), (true, true, false));
        assert_eq!(needs("e {0#}"), (true, false, true));
        assert_eq!(needs("e {= $_ = total_jobs() =}"), (true, false, true));
        let nothing = Template::parse(&[], &Syntax::default()).unwrap();
        assert!(nothing.is_empty() && !nothing.has_values());
    }

    #[test]
    fn a_nul_is_no_part_of_an_argument() {
        let template = parse("e {}", &Syntax::default()).unwrap();
        let records = [Record::of("a\0b")];
        let mut words = Vec::new();
        let error = template.render_words(&context(&records), &mut words).unwrap_err();
        assert_eq!(error, RenderError::Nul { seq: 7 });
        let template = parse("e | {}", &Syntax::default()).unwrap();
        let error = template.render_words(&context(&records), &mut words).unwrap_err();
        assert!(error.to_string().contains("needs a shell"), "{error}");
    }

    #[test]
    fn lines_can_be_quoted_again() {
        let syntax = Syntax { shell_quote: 2, ..Syntax::default() };
        let mut template = Template::parse(&[], &syntax).unwrap();
        template.append_value();
        let records = [Record::of("a b")];
        let mut out = b"kept ".to_vec();
        template.render(&context(&records), Values::Quoted(Shell::Bourne), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "kept \"'\"'a b'\"'\"");
    }

    #[test]
    fn tags_with_several_groups() {
        let rpl = vec![(b"{s(.+?)=(.*?)}".to_vec(), b"s/$$1/<$$2>/".to_vec())];
        let syntax = Syntax { rpl, ..Syntax::default() };
        let records = [Record::of("abc")];
        let mut out = Vec::new();
        let template = parse("e {sb=x y} {1sc=}", &syntax).unwrap();
        template.render(&context(&records), Values::Bare, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "e a<x y>c ab<>");
    }
}
