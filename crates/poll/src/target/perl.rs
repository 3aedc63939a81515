//! Whether a text that is no arithmetic can be Perl at all.
//!
//! MRTG accepts any text as a target and runs it as Perl, with `use strict`, in each round; what is
//! wrong there has no value, whatever else it says.  So a target is refused only if Perl could give it
//! a value that whit cannot: here are the errors that are found without knowing all of Perl: unknown
//! names, brackets and quotes without their partners, operators and operands in the wrong places.

use super::grammar::query_of;

/// Variables that the text can use: those around it in MRTG, and Perl's own.
const VARIABLES: &str = "target rou rcfg cfg last uptime name time data warning death mode NOW graphiteObj \
     STARTARGS ENV ARGV INC SIG a b _";

/// Operators that are words.
const OPERATORS: &str = "x eq ne lt gt le ge cmp and or xor if unless for";

/// Functions of Perl.
const FUNCTIONS: &str = "abs atan2 chomp chop chr cos defined delete die do each eval exec exists exit exp \
     gmtime grep hex index int join keys lc lcfirst length local localtime log map my no \
     not oct open ord our pack pop print printf push q qq qr qw qx rand ref require return \
     reverse rindex s m y tr scalar shift sin sleep sort splice split sprintf sqrt srand \
     stat sub substr system time times uc ucfirst undef unpack unshift use values wait \
     wantarray warn while until foreach else elsif __FILE__ __LINE__ __PACKAGE__";

/// Operators with two sides, longest first.
const BINARY: &str = "<=> ... **= ||= &&= //= <<= >>= ** == != <= >= && || // .. => -> =~ !~ << >> += -= *= \
     /= .= %= x= &= |= ^= + - * / % . < > | ^ & = ? : ,";

/// Whether a text is an error to Perl for a reason that can be told.
pub(super) fn is_wrong(text: &str) -> bool {
    ExpressionReader {
        rest: text,
        open: Vec::new(),
        choices: 0,
        wants_operand: true,
        is_at_begin: true,
    }
    .read()
    .is_none()
}

struct ExpressionReader<'a> {
    rest: &'a str,
    /// The partners of open brackets.
    open: Vec<char>,
    /// Choices (`?:`) whose second part is not yet there.
    choices: usize,
    /// Whether an operand is next, and whether nothing is also right there.
    wants_operand: bool,
    is_at_begin: bool,
}

fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

fn word_end(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

impl ExpressionReader<'_> {
    /// `None` at an error.
    fn read(&mut self) -> Option<()> {
        loop {
            self.rest = self.rest.trim_start();
            if let Some(comment) = self.rest.strip_prefix('#') {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
                continue;
            }
            let Some(first) = self.rest.chars().next() else { break };
            let length = match first {
                _ if query_of(first).is_some() => self.operand(first.len_utf8())?,
                '0'..='9' => self.number()?,
                '.' if self.rest[1..].starts_with(|c: char| c.is_ascii_digit())
                    && self.wants_operand =>
                {
                    self.number()?
                }
                'a'..='z' | 'A'..='Z' | '_' => self.word()?,
                '$' | '@' => self.variable()?,
                '\'' | '"' | '`' => self.quoted(first)?,
                '(' | '[' | '{' => self.open(first)?,
                ')' | ']' | '}' => self.close(first)?,
                ';' => self.end_of_statement()?,
                _ => self.symbol(first)?,
            };
            self.rest = &self.rest[length..];
        }
        let is_whole = self.open.is_empty() && self.choices == 0;
        (is_whole && (!self.wants_operand || self.is_at_begin)).then_some(())
    }

    /// An operand of so many bytes.
    fn operand(&mut self, length: usize) -> Option<usize> {
        if !self.wants_operand {
            return None;
        }
        (self.wants_operand, self.is_at_begin) = (false, false);
        Some(length)
    }

    fn number(&mut self) -> Option<usize> {
        let digits = self.rest.strip_prefix("0x").map_or(self.rest, |_| "");
        let is_octal = digits.len() > 1 && digits.starts_with('0');
        let part = |c: char| c.is_ascii_digit() || c == '_';
        let end = match self.rest.get(..2) {
            Some("0x" | "0b" | "0X" | "0B") => 2 + word_end(&self.rest[2..]),
            _ => self.rest.find(|c| !part(c) && c != '.').unwrap_or(self.rest.len()),
        };
        let end = self.rest[..end].find("..").unwrap_or(end);
        if is_octal && self.rest[1..end].starts_with(['8', '9']) {
            return None;
        }
        let rest = &self.rest[end..];
        let exponent =
            rest.strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
        let digits = exponent.map_or(0, |text| text.len() - text.trim_start_matches(part).len());
        let end = match (exponent, digits) {
            (Some(exponent), 1..) => self.rest.len() - exponent.len() + digits,
            _ => end,
        };
        self.operand(end)
    }

    fn word(&mut self) -> Option<usize> {
        let end = word_end(self.rest);
        let (word, after) = (&self.rest[..end], self.rest[end..].trim_start());
        if has(OPERATORS, word) && !self.wants_operand {
            self.wants_operand = true;
            return Some(end);
        }
        if after.starts_with("=>") {
            return self.operand(end);
        }
        if after.starts_with("::") || after.starts_with('\'') && self.rest[end..].starts_with('\'')
        {
            // A name of a package: what is in it is not known here.
            return self.operand(self.rest.len());
        }
        if !has(FUNCTIONS, word) || !self.wants_operand {
            return None;
        }
        // Its argument follows, or nothing.
        self.is_at_begin = true;
        Some(end)
    }

    fn variable(&mut self) -> Option<usize> {
        let after = &self.rest[1..];
        let end = word_end(after);
        let name = &after[..end];
        let is_scalar = self.rest.starts_with('$');
        let is_known =
            has(VARIABLES, name) || is_scalar && name.starts_with(|c: char| c.is_ascii_digit());
        let length = match (name, after.chars().next()) {
            ("", Some('$' | '{')) => 1,
            ("", Some(mark)) if is_scalar && mark.is_ascii_punctuation() => 2,
            ("", Some('-' | '+')) => 2,
            ("", _) => return None,
            // A name in a package, or the name alone.
            _ if after[end..].starts_with("::") => {
                let is_outside = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | ':');
                1 + after.find(is_outside).unwrap_or(after.len())
            }
            _ if is_known => 1 + end,
            _ => return None,
        };
        if length == 1 {
            // `${…}`, `@{…}`, `@$x`: what follows is the operand.
            return self.wants_operand.then_some(1);
        }
        self.operand(length)
    }

    fn quoted(&mut self, mark: char) -> Option<usize> {
        let mut is_escaped = false;
        for (at, character) in self.rest.char_indices().skip(1) {
            match character {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                _ if character == mark => return self.operand(at + 1),
                _ => {}
            }
        }
        None
    }

    fn open(&mut self, bracket: char) -> Option<usize> {
        // After an operand only `[` and `{` of an element follow.
        if !self.wants_operand && bracket == '(' {
            return None;
        }
        self.open.push(match bracket {
            '(' => ')',
            '[' => ']',
            _ => '}',
        });
        (self.wants_operand, self.is_at_begin) = (true, true);
        Some(1)
    }

    fn close(&mut self, bracket: char) -> Option<usize> {
        let is_partner = self.open.pop() == Some(bracket);
        if !is_partner || self.wants_operand && !self.is_at_begin {
            return None;
        }
        (self.wants_operand, self.is_at_begin) = (false, false);
        Some(1)
    }

    fn end_of_statement(&mut self) -> Option<usize> {
        if self.wants_operand && !self.is_at_begin || self.open.iter().any(|one| *one != '}') {
            return None;
        }
        (self.wants_operand, self.is_at_begin) = (true, true);
        Some(1)
    }

    fn symbol(&mut self, first: char) -> Option<usize> {
        if self.wants_operand {
            return match first {
                '-' | '+' | '!' | '~' | '\\' => {
                    self.is_at_begin = false;
                    // `-word` is a text.
                    let word = word_end(&self.rest[1..]);
                    let begins = self.rest[1..].starts_with(|c: char| c.is_ascii_alphabetic());
                    match first == '-' && begins && !has(FUNCTIONS, &self.rest[1..=word]) {
                        true => self.operand(1 + word),
                        false => Some(1),
                    }
                }
                // A pattern, or a name of files.
                '/' => self.quoted('/'),
                '<' => self.quoted('>'),
                _ => None,
            };
        }
        if self.rest.starts_with("++") || self.rest.starts_with("--") {
            return Some(2);
        }
        let operator = BINARY.split(' ').find(|one| self.rest.starts_with(one))?;
        match operator {
            "?" => self.choices += 1,
            ":" => self.choices = self.choices.checked_sub(1)?,
            _ => {}
        }
        // A list may end with a comma.
        (self.wants_operand, self.is_at_begin) = (true, operator == ",");
        Some(operator.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_from_perl() {
        let value = char::from_u32(0xF_0000).expect("a character");
        for perl in [
            "$$target[0]",
            "$x::y",
            "'a' . 'b'",
            "sin(1) + 2",
            "2 << 1",
            "1 ? 2 : 3",
            "{ 1 }",
            "(1, 2,)[0]",
            "length('x')",
            "time",
            "1; 2",
            "$ENV{'X'}",
            "1 .. 2",
            "-x",
            "do { 1 }",
            "1 x 3",
            "\"a\"",
        ] {
            assert!(!is_wrong(perl), "{perl}");
        }
        for wrong in [
            "$x",
            "2 public",
            "max(1, 2)",
            "public",
            "1 2",
            "(1",
            "1)",
            "1 +",
            "* 2",
            "'a",
            "1 : 2",
            "1 ? 2",
            "@host",
            "&ifOutErrors",
            "089",
            "[1",
            "a{1}",
            "1 ( 2 )",
            "{ 1",
            "1 & ",
            "2 : a",
        ] {
            assert!(is_wrong(wrong), "{wrong}");
        }
        assert!(!is_wrong(&format!("{value} & 1")));
        assert!(is_wrong(&format!("{value} {value}")));
        assert!(is_wrong(&format!("{value} @ 1")));
        assert!(!is_wrong(""));
        assert!(is_wrong(&"(".repeat(100_000)));
    }
}
