//! Filters and templates of `cfgmaker`: scalar Perl (crate `perl`) with hashes that are given.
//!
//! Filters are expressions (`$if_admin && $default_iftype`), templates are statements that put lines
//! together (`$target_lines .= <<ECHO;`).  Subs of `ConversionCode` are scripts with an argument.
//! Everything that is not offered is refused by name when the text is read, with its line.

use perl::{Dialect, PerlEnvironment, PerlFault, PerlProgram};
pub use perl::{Scope, Value as ScriptValue};

/// Bytes of a text that a script makes.
const TEXT_SIZE_MAX: usize = 16 << 20;

/// Functions of Perl that scripts may use.
const FUNCTIONS: &[&str] = &[
    "lc", "uc", "lcfirst", "ucfirst", "length", "defined", "int", "abs", "substr", "index",
    "return", "die",
];

static DIALECT: Dialect = Dialect {
    functions: FUNCTIONS,
    own: &[("html_escape", 1, 1)],
    spellings: &[],
    array: None,
    has_hashes: true,
};

/// The dialect of a sub: its argument is `$_[0]`, or taken from `@_` by `shift`.
static SUB_DIALECT: Dialect = Dialect {
    functions: FUNCTIONS,
    own: &[("html_escape", 1, 1), ("shift", 0, 1)],
    spellings: &[],
    array: Some("_"),
    has_hashes: true,
};

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
    program: PerlProgram,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// If the text is not Perl, or uses what is not offered.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        Script::parse_dialect(text, &DIALECT)
    }

    /// Reads the body of a sub.
    pub(crate) fn parse_sub(text: &str) -> Result<Self, ScriptError> {
        Script::parse_dialect(text, &SUB_DIALECT)
    }

    fn parse_dialect(text: &str, dialect: &Dialect) -> Result<Self, ScriptError> {
        let program = PerlProgram::parse(text.as_bytes(), dialect);
        let error =
            |error: perl::ParseError| ScriptError { line: error.line, message: error.message };
        Ok(Script { program: program.map_err(error)? })
    }

    /// Runs the script; the result is the value of its last statement.
    ///
    /// # Errors
    /// If the script uses a variable that is neither in the scope nor its own, dies, divides by
    /// zero, or makes a text that is too long.
    pub fn run(&self, scope: &mut Scope) -> Result<ScriptValue, ScriptError> {
        if let Some((line, name)) = self.program.undeclared(scope) {
            let message = format!("there is no variable {name}");
            return Err(ScriptError { line, message });
        }
        self.run_with(scope, None)
    }

    /// Runs a sub.
    pub(crate) fn call(&self, argument: &str) -> Result<ScriptValue, ScriptError> {
        self.run_with(&mut Scope::default(), Some(ScriptValue::from(argument)))
    }

    fn run_with(
        &self,
        scope: &mut Scope,
        argument: Option<ScriptValue>,
    ) -> Result<ScriptValue, ScriptError> {
        self.program.run(scope, &mut Surroundings { argument }).map_err(|error| {
            let message = match error.fault {
                PerlFault::TooLong => format!("a text becomes longer than {TEXT_SIZE_MAX} bytes"),
                PerlFault::Failed(why) => why,
            };
            ScriptError { line: error.line, message }
        })
    }
}

/// What a script finds around it.
struct Surroundings {
    /// The argument of a sub, until it is shifted.
    argument: Option<ScriptValue>,
}

impl PerlEnvironment for Surroundings {
    fn text_bytes_max(&self) -> usize {
        TEXT_SIZE_MAX
    }

    fn array_length(&self) -> usize {
        usize::from(self.argument.is_some())
    }

    fn element(&self, index: usize) -> ScriptValue {
        self.argument.clone().filter(|_| index == 0).unwrap_or_default()
    }

    fn call(
        &mut self,
        function: &'static str,
        arguments: Vec<ScriptValue>,
    ) -> Result<ScriptValue, PerlFault> {
        Ok(match function {
            "shift" => self.argument.take().unwrap_or_default(),
            _ => arguments
                .first()
                .map_or_else(String::new, |text| html_escape(&text.string()))
                .into(),
        })
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
        Script::parse(text)?.run(&mut scope()).map(|value| value.string())
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
            ("my $nothing; defined $nothing ? 1 : 0", "0"),
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
        for (text, expected) in [
            ("1 ||\n$if_tpye == 6", "line 2: there is no variable $if_tpye"),
            ("0 && \"a${nmae}\"", "line 1: there is no variable $nmae"),
            ("$router_dve{sysName}", "line 1: there is no variable $router_dve{…}"),
            ("$target_line .= 'x'", "line 1: there is no variable $target_line"),
        ] {
            assert_eq!(run(text).expect_err(text).to_string(), expected);
        }
        assert_eq!(run("$own = 'b'; \"a$own\"").expect("its own"), "ab");
        let deep = "(".repeat(100_000);
        assert!(Script::parse(&deep).is_err());
        assert_eq!(run("\ndie 'no'").expect_err("died").to_string(), "line 2: no");
        let long = "my $x = 'a' x 1000000; $x = $x x 1000000";
        assert!(run(long).expect_err("too long").message.contains("bytes"));
    }
}
