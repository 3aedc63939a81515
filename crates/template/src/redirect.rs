//! Detects that a command redirects its standard output, so that it needs no temporary file.
//!
//! This is decided once for a template, from the text of the command.  Only simple commands are
//! recognized: one command with quotes, variables and simple `$(…)`, and a `>` or `>>`.  For all
//! others the answer is no, which costs two system calls a job and is never wrong.

use super::Template;
use super::parse::LinePart;

/// First words after which other commands than the visible one may write.
const OTHERS_MAY_WRITE: [&[u8]; 7] =
    [b".", b"builtin", b"command", b"eval", b"exec", b"source", b"trap"];

/// Whether the command cannot write to the standard output that it is started with, by the rules of
/// Bourne shells.
pub(crate) fn redirects_output(template: &Template) -> bool {
    if template.is_unquoted || template.quote_command.is_some() || template.shell_quote > 0 {
        return false;
    }
    let mut reader = RedirectReader::default();
    let is_plain = template.pieces.iter().all(|piece| match piece {
        LinePart::Text(text) => reader.text(text),
        LinePart::Blank(text) => reader.blank(text),
        LinePart::Join => false,
        LinePart::Value(value) => reader.value(value.what.is_for_shell()),
    });
    is_plain && reader.end()
}

/// The context in the text.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Command,
    Quotes(u8),
    /// `$(…)`.
    Substitution,
}

#[derive(Default)]
struct RedirectReader {
    within: Within,
    /// The literal text of this word so far, and whether it contains anything else.
    word: Vec<u8>,
    has_more: bool,
    has_words: bool,
    /// The descriptor whose file name comes next.
    awaits: Option<u8>,
    is_redirected: bool,
}

impl RedirectReader {
    fn text(&mut self, text: &[u8]) -> bool {
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            let is_plain = match self.within {
                Within::Quotes(mark) if byte == mark => {
                    self.within = Within::Command;
                    true
                }
                Within::Quotes(b'\'') => true,
                Within::Quotes(_) => match byte {
                    b'$' => begins_name(rest),
                    _ => !matches!(byte, b'`' | b'\\'),
                },
                Within::Substitution if byte == b')' => {
                    self.within = Within::Command;
                    true
                }
                Within::Substitution => {
                    byte.is_ascii_alphanumeric() || b"_./%+,:=@-".contains(&byte)
                }
                Within::Command => self.command(byte, &mut rest),
            };
            if !is_plain {
                return false;
            }
        }
        true
    }

    /// Handles a byte outside quotes; takes the rest of a construct from `rest`.
    fn command(&mut self, byte: u8, rest: &mut &[u8]) -> bool {
        match byte {
            b'\'' | b'"' => {
                self.within = Within::Quotes(byte);
                self.has_more = true;
            }
            b'$' => {
                if let Some(after) = rest.strip_prefix(b"(") {
                    self.within = Within::Substitution;
                    *rest = after;
                } else if !begins_name(rest) {
                    return false;
                }
                self.has_more = true;
            }
            b'>' | b'<' => return self.redirection(byte, rest),
            b'#' => return self.has_word(),
            b'|' | b'&' | b';' | b'(' | b')' | b'`' | b'\\' | b'!' | b'{' | b'}' => return false,
            _ => self.word.push(byte),
        }
        true
    }

    fn redirection(&mut self, byte: u8, rest: &mut &[u8]) -> bool {
        let usual = if byte == b'>' { 1 } else { 0 };
        let descriptor = match *self.word {
            [digit @ b'0'..=b'9'] if !self.has_more => {
                self.word.clear();
                digit - b'0'
            }
            _ => usual,
        };
        if !self.end_word() {
            return false;
        }
        if let (b'>', Some(after)) = (byte, rest.strip_prefix(b">")) {
            *rest = after;
        } else if let (b'>', true, Some(after)) =
            (byte, self.is_redirected, rest.strip_prefix(b"&"))
        {
            // Duplicates another descriptor; since `>` came before, that is not the original
            // output.
            *rest = after;
        }
        self.awaits = Some(if byte == b'>' { descriptor } else { 0 });
        !matches!(rest.first(), Some(b'>' | b'<' | b'&' | b'|' | b'('))
    }

    fn blank(&mut self, text: &[u8]) -> bool {
        match self.within {
            Within::Quotes(_) => true,
            _ if text.contains(&b'\n') => false,
            Within::Substitution => true,
            Within::Command => self.end_word(),
        }
    }

    fn value(&mut self, is_for_shell: bool) -> bool {
        self.has_more = true;
        !is_for_shell && !matches!(self.within, Within::Quotes(_))
    }

    fn has_word(&self) -> bool {
        self.has_more || !self.word.is_empty()
    }

    /// Handles the end of a word; false if other commands may follow from it.
    fn end_word(&mut self) -> bool {
        if !self.has_word() {
            return true;
        }
        if let Some(descriptor) = self.awaits.take() {
            self.is_redirected |= descriptor == 1;
        } else if !std::mem::replace(&mut self.has_words, true)
            && (self.has_more || OTHERS_MAY_WRITE.contains(&&*self.word))
        {
            return false;
        }
        self.word.clear();
        self.has_more = false;
        true
    }

    /// Handles the end of the command; returns whether its output is redirected.
    fn end(mut self) -> bool {
        let is_whole = self.within == Within::Command && self.end_word() && self.awaits.is_none();
        is_whole && self.is_redirected
    }
}

/// Whether a variable name follows a `$`.
fn begins_name(rest: &[u8]) -> bool {
    rest.first().is_some_and(|&byte| byte.is_ascii_alphanumeric() || b"_?#@*".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Syntax;

    fn redirects(command: &str) -> bool {
        let template = Template::parse(&[command.as_bytes().to_vec()], &Syntax::default());
        redirects_output(&template.unwrap())
    }

    #[test]
    fn plain_commands_with_a_file_of_their_own_do() {
        for command in [
            "echo {} $(date) > log.{}.txt",
            "gzip -dc {} >{.}",
            "gzip -dc {}>{.}",
            "> {} date",
            "cat < {} >> all",
            "sort {} 1>{}.sorted 2> {}.err",
            "cmd {} > {} 2>&1",
            "echo \"$HOME\" '> x' $USER > {}",
            "echo 12>{}",
            "A=1 env > {}",
        ] {
            assert!(redirects(command), "{command}");
        }
    }

    #[test]
    fn whatever_else_might_write_does_not() {
        for command in [
            "echo {}",
            "echo {} 2> x",
            "echo 2>{}",
            "echo {} > a; echo b",
            "echo {} > a\necho b",
            "echo {} > a | cat",
            "echo {} > a & echo b",
            "echo {} > a && echo b",
            "echo {} 2>&1 > a",
            "echo {} >&2",
            "echo {} >| a",
            "echo {} > ",
            "echo {} # > a",
            "(echo {}) > a",
            "{ echo {}; } > a",
            "echo `date` > a",
            "echo $(date; date) > a",
            "echo ${x} > a",
            "echo '> a' {}",
            "echo \"> a\"",
            "echo \\> a",
            "echo \"{}\" > a",
            "cat <(date) > a",
            "cat << x > a",
            "{} > a",
            "'trap' 'echo x' EXIT > a",
            "trap 'echo x' EXIT > a",
            "eval x > a",
        ] {
            assert!(!redirects(command), "{command}");
        }
    }
}
