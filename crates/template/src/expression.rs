//! The language of `{= =}` and `--rpl`: scalar Perl (crate `perl`) with functions of the job.
//!
//! `$_` is the value; `@arg` has an empty entry before the first value, as in GNU parallel.
//! Variables that an expression does not declare with `my` keep their values from job to job, so
//! expressions with them go to the one Perl process.  Without Perl they are empty at the start of
//! each job, and shared by the expressions of one command line.

use perl::{Dialect, PerlEnvironment, PerlFault, Value};
use regex::bytes::Regex;

use super::perl_process::{PerlJob, PerlProcess, PerlProcessError};
use super::quote::{self, Shell};
use super::{Context, RenderError, TemplateError};

/// Longest text of an expression in bytes: above the limit of an argument (128 KiB), so that `"x" x
/// 1e9` is an error and does not use up memory.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Functions of the date and time, with their formats.
const TIMES: &[(&str, &str)] = &[
    ("yyyy_mm_dd_hh_mm_ss", "Y-m-dTH:M:S"),
    ("yyyy_mm_dd_hh_mm", "Y-m-dTH:M"),
    ("yyyy_mm_dd", "Y-m-d"),
    ("hh_mm_ss", "H:M:S"),
    ("hh_mm", "H:M"),
    ("yyyymmddhhmmss", "YmdHMS"),
    ("yyyymmddhhmm", "YmdHM"),
    ("yyyymmdd", "Ymd"),
    ("hhmmss", "HMS"),
    ("hhmm", "HM"),
];

static DIALECT: Dialect = Dialect {
    functions: &[
        "length", "substr", "index", "rindex", "uc", "lc", "ucfirst", "lcfirst", "sprintf", "join",
        "int", "abs", "sqrt", "log", "exp", "hex", "oct", "ord", "chr", "reverse", "defined",
    ],
    own: &[
        ("seq", 0, 0),
        ("slot", 0, 0),
        ("total_jobs", 0, 0),
        ("skip", 0, 0),
        ("uq", 0, 0),
        ("Q", 1, 1),
        ("shell_quote", 1, 1),
        ("shell_quote_scalar", 1, 1),
        ("yyyy_mm_dd_hh_mm_ss", 0, 0),
        ("yyyy_mm_dd_hh_mm", 0, 0),
        ("yyyy_mm_dd", 0, 0),
        ("hh_mm_ss", 0, 0),
        ("hh_mm", 0, 0),
        ("yyyymmddhhmmss", 0, 0),
        ("yyyymmddhhmm", 0, 0),
        ("yyyymmdd", 0, 0),
        ("hhmmss", 0, 0),
        ("hhmm", 0, 0),
    ],
    spellings: &[
        ("job->seq()", "seq"),
        ("job->slot()", "slot"),
        ("job->skip()", "skip"),
        ("Global::max_jobs_running", "max_jobs_running"),
    ],
    array: Some("arg"),
    has_hashes: false,
};

/// The variables of one command line.
pub(crate) use perl::Scope;

/// What an expression requests besides its text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verdict {
    /// `skip()`: do not start the job.
    pub(crate) skip: bool,
    /// `uq()`: do not quote the text.
    pub(crate) unquoted: bool,
}

/// The code of an expression.
#[derive(Clone, Debug)]
enum Code {
    /// In our own language.
    Own(perl::PerlProgram),
    /// Beyond it: Perl itself runs it.
    Perl(PerlProcess, Vec<u8>),
}

impl Code {
    fn parse(
        code: &[u8],
        groups: &[Vec<u8>],
        process: Option<&PerlProcess>,
    ) -> Result<Self, TemplateError> {
        let own = perl::PerlProgram::parse_with_groups(code, &DIALECT, groups);
        match (own, process) {
            (Ok(program), Some(process)) if program.keeps_values() => {
                match process.parse(&with_groups(code, groups)) {
                    Err(PerlProcessError::Missing) => Ok(Code::Own(program)),
                    _ => Code::of_perl(code, groups, Some(process), ""),
                }
            }
            (Ok(program), _) => Ok(Code::Own(program)),
            (Err(error), process) => Code::of_perl(code, groups, process, &error.to_string()),
        }
    }

    /// An expression that Perl runs, because our own language lacks what `error` says.
    fn of_perl(
        code: &[u8],
        groups: &[Vec<u8>],
        process: Option<&PerlProcess>,
        error: &str,
    ) -> Result<Self, TemplateError> {
        let written = String::from_utf8_lossy(code);
        let refused = |why: &str| {
            TemplateError::Expression(format!("{error}{why} in the expression {{={written}=}}"))
        };
        let Some(process) = process else { return Err(refused("")) };
        let is_internal = |name: &[u8]| name != b"max_jobs_running";
        if memchr::memmem::find_iter(code, b"$Global::")
            .map(|at| &code[at + b"$Global::".len()..])
            .map(|rest| &rest[..rest.iter().take_while(|byte| is_of_name(**byte)).count()])
            .chain(memchr::memmem::find(code, b"$opt::").map(|_| &b"opt"[..]))
            .any(is_internal)
        {
            return Err(refused(" (nor are the variables of parallel's own program)"));
        }
        let text = with_groups(code, groups);
        match process.parse(&text) {
            Ok(()) => Ok(Code::Perl(process.clone(), text)),
            Err(PerlProcessError::Missing) => Err(refused(" (and Perl is not installed)")),
            Err(PerlProcessError::Failed(why)) => {
                Err(TemplateError::Expression(format!("the expression {{={written}=}} {why}")))
            }
            Err(PerlProcessError::TooLong) => Err(refused("")),
        }
    }
}

/// The code with the texts of a pattern's groups in place of `$$1` …, as in parallel.
fn with_groups(code: &[u8], groups: &[Vec<u8>]) -> Vec<u8> {
    let mut text = code.to_vec();
    for (number, group) in groups.iter().enumerate() {
        let name = format!("$${}", number + 1);
        let mut from = 0;
        while let Some(at) = memchr::memmem::find(&text[from..], name.as_bytes()) {
            let place = from + at;
            text.splice(place..place + name.len(), group.iter().copied());
            // A group may hold such a name itself.
            from = place + group.len();
        }
    }
    text
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    code: Code,
    /// The position of the value, if the expression begins with it: `--rpl '{x} 1 ...'`.
    pub(crate) position: Option<i32>,
    /// Whether the program depends on the job only: it appears once, whatever values share the line.
    pub(crate) is_of_job: bool,
    /// Whether the program may request that its text is not quoted.
    pub(crate) unquotes: bool,
    pub(crate) needs_slot: bool,
    pub(crate) needs_total: bool,
}

impl Program {
    /// Whether Perl runs it, so that variables keep their values.
    pub(crate) fn is_of_perl(&self) -> bool {
        matches!(self.code, Code::Perl(..))
    }

    /// Parses an expression.  `groups` are the values of `$$1` ….  What is beyond our own language
    /// is run by the process, if there is one.
    pub(crate) fn parse(
        code: &[u8],
        groups: &[Vec<u8>],
        process: Option<&PerlProcess>,
    ) -> Result<Self, TemplateError> {
        let parsed = Code::parse(code, groups, process)?;
        let mentions = |text: &[u8]| memchr::memmem::find(code, text).is_some();
        Ok(Program {
            code: parsed,
            position: None,
            is_of_job: false,
            unquotes: mentions(b"uq"),
            needs_slot: mentions(b"slot"),
            needs_total: mentions(b"total_jobs"),
        })
    }

    /// Parses the expression of a `--rpl`, which may begin with a position: `1 $_ = seq()` appears
    /// once, whatever values share the line.
    pub(crate) fn of_rpl(
        code: &[u8],
        groups: &[Vec<u8>],
        process: Option<&PerlProcess>,
    ) -> Result<Self, TemplateError> {
        let trimmed = code.trim_ascii_start();
        let sign = usize::from(trimmed.first() == Some(&b'-'));
        let digits = trimmed[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = trimmed.split_at(sign + digits);
        let is_position =
            digits > 0 && (rest.is_empty() || rest.first().is_some_and(u8::is_ascii_whitespace));
        if !is_position {
            return Program::parse(code, groups, process);
        }
        let mut program = Program::parse(rest, groups, process)?;
        program.position = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok());
        program.is_of_job = program.position == Some(1);
        Ok(program)
    }

    /// Appends the result for `value` to `out`.
    pub(crate) fn run(
        &self,
        scope: &mut Scope,
        context: &Context<'_>,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Verdict, RenderError> {
        let program = match &self.code {
            Code::Own(program) => program,
            Code::Perl(process, code) => return run_by_perl(process, code, context, value, out),
        };
        if program.only_call() == Some("uq") {
            out.extend_from_slice(value);
            return Ok(Verdict { skip: false, unquoted: true });
        }
        let mut job = Job { context, verdict: Verdict::default(), lacks_total: false };
        scope.topic = Value::Text(value.to_vec());
        program.run(scope, &mut job).map_err(|error| match error.fault {
            _ if job.lacks_total => RenderError::NoTotal,
            PerlFault::TooLong => job.error("makes a text longer than any argument can be"),
            PerlFault::Failed(why) => job.error(&why),
        })?;
        scope.topic.write(out);
        Ok(job.verdict)
    }
}

/// Appends what Perl makes of a value.
fn run_by_perl(
    process: &PerlProcess,
    code: &[u8],
    context: &Context<'_>,
    value: &[u8],
    out: &mut Vec<u8>,
) -> Result<Verdict, RenderError> {
    let mut job = Job { context, verdict: Verdict::default(), lacks_total: false };
    if context.total.is_none() && memchr::memmem::find(code, b"total_jobs").is_some() {
        return Err(RenderError::NoTotal);
    }
    let names = |text: &[u8]| memchr::memmem::find(code, text).is_some();
    let of = PerlJob {
        value,
        seq: context.seq,
        slot: if names(b"slot") { context.slot } else { 0 },
        slots: context.slots,
        total: context.total,
        local_time_s: context.local_time_s,
    };
    let values: Vec<&[u8]> = match names(b"arg") {
        true => job.values().map(Vec::as_slice).collect(),
        false => Vec::new(),
    };
    let result = process.run(code, of, &values, TEXT_BYTES_MAX).map_err(|error| match error {
        PerlProcessError::Failed(why) => job.error(&why),
        PerlProcessError::TooLong => job.error("makes a text longer than any argument can be"),
        PerlProcessError::Missing => job.error("needs Perl, which is not installed"),
    })?;
    out.extend_from_slice(&result.text);
    (job.verdict.skip, job.verdict.unquoted) = (result.skip, result.unquoted);
    Ok(job.verdict)
}

/// What expressions find around them: the job and its values.
struct Job<'a> {
    context: &'a Context<'a>,
    verdict: Verdict,
    lacks_total: bool,
}

impl Job<'_> {
    fn error(&self, why: &str) -> RenderError {
        RenderError::Expression(format!("job {}: an expression {why}", self.context.seq))
    }

    fn values(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.context.records.iter().flat_map(|record| &record.values)
    }
}

impl PerlEnvironment for Job<'_> {
    fn text_bytes_max(&self) -> usize {
        TEXT_BYTES_MAX
    }

    fn array_length(&self) -> usize {
        1 + self.context.records.iter().map(|record| record.values.len()).sum::<usize>()
    }

    fn element(&self, index: usize) -> Value {
        let value = index.checked_sub(1).and_then(|index| self.values().nth(index));
        value.map_or(Value::Nothing, |value| Value::Text(value.clone()))
    }

    fn elements(&self) -> Vec<Vec<u8>> {
        std::iter::once(Vec::new()).chain(self.values().cloned()).collect()
    }

    fn call(&mut self, function: &'static str, arguments: Vec<Value>) -> Result<Value, PerlFault> {
        match function {
            "seq" => return Ok(Value::from(self.context.seq as i64)),
            "slot" => return Ok(Value::from(i64::from(self.context.slot))),
            "max_jobs_running" => return Ok(Value::from(i64::from(self.context.slots))),
            "total_jobs" => {
                self.lacks_total = self.context.total.is_none();
                let total = self.context.total.ok_or(PerlFault::TooLong)?;
                return Ok(Value::from(total as i64));
            }
            "skip" => self.verdict.skip = true,
            "uq" => self.verdict.unquoted = true,
            _ => {}
        }
        if let Some(argument) = arguments.into_iter().next() {
            let mut out = Vec::new();
            quote::quote(Shell::Bourne, &argument.into_text(), &mut out);
            let is_short = out.len() <= TEXT_BYTES_MAX;
            return is_short.then_some(Value::Text(out)).ok_or(PerlFault::TooLong);
        }
        let format = TIMES.iter().find(|(name, _)| *name == function);
        Ok(format.map_or(Value::Nothing, |(_, format)| {
            Value::from(time_text(format, self.context.local_time_s))
        }))
    }
}

/// The date and time: `Y`, `m`, `d`, `H`, `M`, `S` and the characters between them.
fn time_text(format: &str, local_time_s: i64) -> String {
    let (days, seconds) = (local_time_s.div_euclid(86_400), local_time_s.rem_euclid(86_400));
    // Days are counted in years that begin in March, so that a leap day is the last of its year;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let mut out = String::new();
    for letter in format.chars() {
        match letter {
            'Y' => out += &format!("{year:04}"),
            'm' => out += &format!("{month:02}"),
            'd' => out += &format!("{:02}", day_of_year - (153 * from_march + 2) / 5 + 1),
            'H' => out += &format!("{:02}", seconds / 3600),
            'M' => out += &format!("{:02}", seconds / 60 % 60),
            'S' => out += &format!("{:02}", seconds % 60),
            other => out.push(other),
        }
    }
    out
}

/// A pattern made of parts, for the strings of `--plus`.
pub(crate) fn pattern(parts: &[&[u8]]) -> Result<Regex, TemplateError> {
    perl::compile(&parts.concat(), "").map_err(TemplateError::Expression)
}
