//! The command line: the shell whose language it is in, its replacement strings, and how it
//! becomes a process.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::StartMethod;
use crate::packing;
use crate::shell::ShellChoice;
use spawn::ARGUMENT_BYTES_MAX;
use template::quote::Shell;
use template::{Context, Packing, PerlProcess, Syntax, Template, shell};

use super::error::{SetupError, system};
use super::input::GivenInput;
use crate::settings::{RunSettings, StringSettings};
use crate::user::UserEnvironment;

/// The command line of all jobs.
pub(super) struct Command {
    /// The template of the command lines.
    pub(super) template: Template,
    /// The replacement strings, for other options that may contain some.
    pub(super) syntax: Syntax,
    /// The shell that runs them if one is needed.
    pub(super) shell: PathBuf,
    /// The dialect of that shell.
    pub(super) dialect: Shell,
    /// How records are packed into a command line.
    pub(super) packing: Packing,
    /// Values are a shell variable that holds the name of a block.
    pub(super) is_named: bool,
    /// What the shell reads before each command line.
    pub(super) prologue: Vec<u8>,
}

/// The variable with what the shell reads before each command line, or the name of a file with it.
/// Jobs do not get it.
pub(super) const PROLOGUE: &str = "PARALLEL_ENV";

/// The text of [`PROLOGUE`], with the newline that ends it; empty if there is none.  Bytes of 1 are
/// newlines.
fn prologue(user: &UserEnvironment) -> Result<Vec<u8>, SetupError> {
    let mut text = user.bytes(PROLOGUE);
    if text.is_empty() {
        return Ok(text);
    }
    let path = Path::new(OsStr::from_bytes(&text));
    if path.exists() {
        let failed = || format!("{PROLOGUE}: cannot read {}", path.display());
        let mut read = Vec::new();
        let file = File::open(path).map_err(system(failed()))?;
        file.take(ARGUMENT_BYTES_MAX as u64 + 1)
            .read_to_end(&mut read)
            .map_err(system(failed()))?;
        text = read;
    }
    for byte in text.iter_mut().filter(|byte| **byte == 1) {
        *byte = b'\n';
    }
    if text.contains(&0) {
        usage!("{PROLOGUE}: a command line cannot hold a zero byte");
    }
    if text.len() > ARGUMENT_BYTES_MAX {
        usage!("{PROLOGUE}: longer than the {ARGUMENT_BYTES_MAX} bytes of a command line");
    }
    text.push(b'\n');
    Ok(text)
}

impl Command {
    /// Parses the words of the command; `given` is the input of the jobs.
    pub(super) fn parse(
        words: &[Vec<u8>],
        settings: &RunSettings,
        given: &GivenInput,
    ) -> Result<Self, SetupError> {
        let RunSettings { packing, strings, jobs, hosts, .. } = settings;
        let shell = match ShellChoice::parse(&jobs.shell.to_string_lossy()) {
            ShellChoice::Named(name) => named_shell(&name, &settings.user)?,
            _ => settings.user.shell.clone(),
        };
        let dialect = Shell::of_program(shell.as_os_str().as_bytes());
        let mut syntax = syntax(strings, dialect)?;
        syntax.names = given.values.names().to_vec();
        syntax.unnamed = given.values.unnamed();
        if jobs.dry_run {
            syntax.shell_quote = 0;
        }
        let mut template = Template::parse(words, &syntax)?;
        let takes_none = hosts.nonall || packing.replace_args == Some(0) || packing.args == Some(0);
        let is_named = settings.pipe.is_named();
        if given.blocks.is_some() && words.is_empty() {
            usage!("--pipe and --pipe-part need a command that reads the blocks, such as cat");
        }
        // The values of --tee are commands if there is no other.
        let has_place = given.blocks.is_none() && (given.tee.is_none() || words.is_empty());
        if (has_place || is_named) && !takes_none && !template.has_values() {
            template.append_value();
        }
        let packing = packing::of_template(packing);
        let prologue = prologue(&settings.user)?;
        Ok(Command { template, syntax, shell, dialect, packing, is_named, prologue })
    }

    /// Parses the text of an option that may contain replacement strings.
    pub(super) fn option(&self, text: &OsStr) -> Result<Template, SetupError> {
        Ok(Template::parse(&[text.as_bytes().to_vec()], &self.syntax)?)
    }

    /// Whether no job writes to its standard output.
    pub(super) fn redirects_output(&self, user: &UserEnvironment) -> bool {
        shell::redirects_output(&self.template, &self.surroundings(user))
    }

    fn surroundings(&self, user: &UserEnvironment) -> shell::Surroundings {
        let reads = ["BASH_ENV", "ENV"].iter().any(|name| user.variable(name).is_some());
        shell::Surroundings {
            shell: self.dialect,
            reads_startup_file: reads,
            functions: exported_functions(user),
        }
    }

    /// How command lines are started, decided once for all of them; `asked` is `--shell`.  With
    /// `runs_logged` they come from a joblog, whatever the command is.
    pub(super) fn start_method(
        &self,
        asked: &OsStr,
        user: &UserEnvironment,
        runs_logged: bool,
    ) -> Result<StartMethod, SetupError> {
        let choice = ShellChoice::parse(&asked.to_string_lossy());
        let needed = match self.is_named {
            true => Some(shell::ShellReason::Unquoted),
            false if runs_logged => Some(shell::ShellReason::NoCommand),
            false if !self.prologue.is_empty() => Some(shell::ShellReason::StartupFile),
            false => shell::needed(&self.template, &self.surroundings(user)),
        };
        if choice == ShellChoice::Never
            && let Some(reason) = needed
        {
            usage!("--shell never: {reason}");
        }
        if needed.is_none() && !matches!(choice, ShellChoice::Named(_)) {
            let path = user.variable("PATH").unwrap_or_default();
            let name = program(&self.template);
            match name.and_then(|name| spawn::find_program(&name, path.as_bytes())) {
                Some(program) => {
                    let program = CString::new(program.into_os_string().into_vec())?;
                    return Ok(StartMethod::Direct { program: Arc::new(program) });
                }
                None if choice == ShellChoice::Never => usage!("--shell never: no such program"),
                // The shell will report the unknown command, in words that users know.
                None => {}
            }
        }
        let (program, mut words) = shell_words(&self.shell, b"")?;
        words.pop();
        Ok(StartMethod::Shell { program, words, prologue: self.prologue.clone() })
    }
}

/// The replacement strings that the options define.
fn syntax(strings: &StringSettings, shell: Shell) -> Result<Syntax, SetupError> {
    let bytes = |text: &Option<OsString>| text.as_ref().map(|text| text.as_bytes().to_vec());
    let rpl = strings
        .rpl
        .iter()
        .map(|text| {
            let text = text.as_bytes();
            let at = text.iter().position(u8::is_ascii_whitespace);
            // A name alone stands for the value.
            let (name, expression) = match at {
                Some(at) => (&text[..at], &text[at + 1..]),
                None => (text, &b""[..]),
            };
            if name.is_empty() {
                usage!("--rpl needs a name");
            }
            Ok((name.to_vec(), expression.to_vec()))
        })
        .collect::<Result<_, SetupError>>()?;
    let parens = strings.parens.as_ref().map(|text| {
        let text = text.as_bytes();
        let (open, close) = text.split_at(text.len() / 2);
        (open.to_vec(), close.to_vec())
    });
    Ok(Syntax {
        plus: strings.plus,
        parens,
        rpl,
        names: Vec::new(),
        unnamed: None,
        renames: template::Renames {
            value: bytes(&strings.replace).or_else(|| bytes(&strings.replace_default)),
            without_extension: bytes(&strings.without_extension),
            base_name: bytes(&strings.base_name),
            directory: bytes(&strings.directory),
            base_name_without_extension: bytes(&strings.base_name_without_extension),
            seq: bytes(&strings.seqreplace),
            slot: bytes(&strings.slotreplace),
        },
        quote_command: strings.quote,
        shell,
        shell_quote: strings.shell_quote.into(),
        perl: (!strings.no_perl).then(PerlProcess::default),
    })
}

/// Looks up a shell by name or path.
fn named_shell(name: &Path, user: &UserEnvironment) -> Result<PathBuf, SetupError> {
    let path = user.variable("PATH").unwrap_or_default();
    spawn::find_program(name.as_os_str().as_bytes(), path.as_bytes())
        .ok_or_else(|| SetupError::Usage(format!("--shell {}: no such program", name.display())))
}

/// The file of a program and its arguments.
pub(super) type Started = (Arc<CString>, Vec<Vec<u8>>);

/// The arguments that make a shell run `text`.
pub(super) fn shell_words(shell: &Path, text: &[u8]) -> Result<Started, SetupError> {
    let program = CString::new(shell.as_os_str().as_bytes())?;
    let words = vec![shell.as_os_str().as_bytes().to_vec(), b"-c".to_vec(), text.to_vec()];
    Ok((Arc::new(program), words))
}

/// The first word of a template without values that needs no shell.
fn program(template: &Template) -> Option<Vec<u8>> {
    let mut words = Vec::new();
    let packing = Packing::One;
    let context =
        Context { seq: 1, slot: 1, slots: 1, total: None, records: &[], packing, local_time_s: 0 };
    template.render_words(&context, &mut words).ok()?;
    template::words(&words).next().map(<[u8]>::to_vec)
}

/// The functions that are exported to shells (`BASH_FUNC_name%%`).
fn exported_functions(user: &UserEnvironment) -> Vec<Vec<u8>> {
    let function = |(name, _): &(OsString, OsString)| {
        let name = name.as_bytes().strip_prefix(b"BASH_FUNC_")?.strip_suffix(b"%%")?;
        Some(name.to_vec())
    };
    user.variables.iter().filter_map(function).collect()
}
