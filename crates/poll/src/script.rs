//! A small language for filters and templates, a part of Perl: scalars, text, patterns, conditions.
//!
//! Filters of `cfgmaker` are expressions (`$if_admin && $default_iftype`), templates are statements
//! that put lines together (`$target_lines .= <<ECHO;`).  What most of them use is here:
//!
//! - `my $x = …`, `=`, `.=`, `+=`, `-=`, `||=`; `if`, `elsif`, `else`, `unless`, and the same after a
//!   statement; `return`, `die`;
//! - `||`, `&&`, `!`, `or`, `and`, `not`, `? :`, `==` … `<=`, `eq` … `le`, `.`, `x`, arithmetic;
//! - `=~` and `!~` with `/…/`, `m{…}`, `s/…/…/gi`, `$1` … `$9`; patterns without look-around and
//!   back-references;
//! - `'…'`, `"… $name $$hash{key} ${name} …"`, `q()`, `qq()`, `<<TAG`; elements of hashes that are
//!   given;
//! - `lc`, `uc`, `ucfirst`, `lcfirst`, `length`, `defined`, `int`, `abs`, `substr`, `index`,
//!   `html_escape`.
//!
//! Everything else is refused by name when the text is read, with its line.

mod evaluate;
mod expression;
mod scanner;
mod statement;
mod value;

use std::collections::HashMap;

pub use value::ScriptValue;

/// Bytes of a script; templates that are in use have some kilobytes.
const SCRIPT_SIZE_MAX: usize = 1 << 20;
/// Bytes of a text that a script makes.
const TEXT_SIZE_MAX: usize = 16 << 20;
/// Levels of brackets and blocks.
const DEPTH_MAX: usize = 100;

/// What is wrong with a script, or with what it does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// A script, ready to run.
#[derive(Debug, Clone)]
pub struct Script {
    statements: Vec<statement::Statement>,
}

/// Variables of a script.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Scalars by name, without `$`.
    pub scalars: HashMap<String, ScriptValue>,
    /// Hashes by name, as in `$$name{key}`.
    pub hashes: HashMap<String, HashMap<String, ScriptValue>>,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// What is not part of the language.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        if text.len() > SCRIPT_SIZE_MAX {
            let message = format!("a script has at most {SCRIPT_SIZE_MAX} bytes");
            return Err(ScriptError { line: 1, message });
        }
        let mut scanner = scanner::Scanner::new(text);
        let statements = statement::statements(&mut scanner, false)?;
        Ok(Script { statements })
    }

    /// Runs it; the result is the value of its last statement.
    ///
    /// # Errors
    /// `die`, and texts that become too long.
    pub fn run(&self, scope: &mut Scope) -> Result<ScriptValue, ScriptError> {
        evaluate::Evaluator::new(scope).run(&self.statements)
    }
}

/// Text as HTML shows it; line breaks become `<BR>`.
pub(crate) fn html_escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['\n', '\r']) {
        let breaks = rest[at..].len() - rest[at..].trim_start_matches(['\n', '\r']).len();
        out.push_str(&rest[..at]);
        let after = &rest[at + breaks..];
        if after.is_empty() {
            out.push_str(&rest[at..]);
        } else {
            out.push_str("<BR>\n ");
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        let mut scope = Scope::default();
        for (name, value) in [("if_type", "6"), ("name", "eth0"), ("empty", "")] {
            scope.scalars.insert(name.to_owned(), ScriptValue::from(value));
        }
        let hash = [("sysName".to_owned(), ScriptValue::from("box"))].into();
        scope.hashes.insert("router_dev".to_owned(), hash);
        scope
    }

    fn run(text: &str) -> Result<String, ScriptError> {
        Script::parse(text)?.run(&mut scope()).map(|value| value.text())
    }

    #[test]
    fn expressions_are_those_of_perl() {
        for (text, expected) in [
            ("1 + 2 * 3", "7"),
            ("10 / 4", "2.5"),
            ("'a' . 1 + 2", "2"),
            (
                "\"a$name-${name}b $$router_dev{sysName} $router_dev->{'sysName'}\\n\"",
                "aeth0-eth0b box box\n",
            ),
            ("'$name\\n'", "$name\\n"),
            ("$if_type == 6 && $name eq 'eth0'", "1"),
            ("$empty || 'x'", "x"),
            ("not $empty", "1"),
            ("!1", ""),
            ("$name =~ /^(\\w)th(\\d)$/ ? \"$1$2\" : 'no'", "e0"),
            ("$name !~ m{ETH}i", ""),
            ("$name =~ s/[0-9]+/x/; $name", "ethx"),
            ("my $x = 'aXbX'; $x =~ s/x/$name/gi; $x", "aeth0beth0"),
            ("my $t = \"a\"; $t .= <<ECHO . 'z';\n[$name]\nECHO\n$t", "a[eth0]\nz"),
            ("if ($if_type == 7) { 'a' } elsif ($if_type == 6) { 'b' } else { 'c' }", "b"),
            ("my $r = 1; $r = 2 unless $empty; $r", "2"),
            ("uc(substr($name, 0, 2)) . length $name", "ET4"),
            ("defined $nothing ? 1 : 0", "0"),
            ("# a comment\n1;\n", "1"),
            ("'ab' x 2", "abab"),
            ("2 < 10 and '2' gt '10'", "1"),
            ("html_escape('<&>')", "&lt;&amp;&gt;"),
            ("return 5 if 1; 6", "5"),
            ("qq(a ($name) b) . q{c}", "a (eth0) bc"),
        ] {
            assert_eq!(run(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_part_of_it_is_refused_by_name() {
        for (text, line, part) in [
            ("foreach my $x (1) { }", 1, "foreach"),
            ("1;\nsystem('ls')", 2, "system"),
            ("my @a = 1", 1, "@a"),
            ("$x = `ls`", 1, "`"),
            ("$name =~ /(?=x)/", 1, "(?=x)"),
            ("\n\n'abc", 3, "'"),
            ("$a = <<X;\nabc", 1, "X"),
            ("1 +", 1, "end"),
            ("if (1) { 2", 1, "}"),
            ("sub x { }", 1, "sub"),
            ("\"@list\"", 1, "@list"),
        ] {
            let error = Script::parse(text).expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.message.contains(part), "{text}: {error}");
        }
        let deep = "(".repeat(100_000);
        assert!(Script::parse(&deep).is_err());
        assert_eq!(run("\ndie 'no'").expect_err("died").to_string(), "line 2: no");
        let long = "$x = 'a' x 1000000; $x = $x x 1000000";
        assert!(run(long).expect_err("too long").message.contains("bytes"));
    }
}
