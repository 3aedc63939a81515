//! The arithmetic of `Target[…]`: Perl's operators over exact decimal numbers.
//!
//! `+ - * / % **`, comparisons, `! && || // ?: not and or xor`, parentheses, numbers as Perl writes
//! them, and `abs`, `int`, `sqrt`.  What else is Perl is refused by name when a configuration is
//! loaded.  An unknown value in arithmetic makes the result unknown.

use crate::decimal::{ArithmeticError, Decimal};

use super::perl;
use super::scanner::{ExpressionError, Scanner, Token};

/// Nested parentheses and operators of one expression.
const DEPTH_MAX: usize = 200;

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// A value that it needs is unknown.
    Unknown,
    /// The arithmetic has no result.
    Arithmetic(ArithmeticError),
}

/// An expression over values that are known by numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Arithmetic {
    /// A constant.
    Number(Decimal),
    /// The value of this number.
    Value(usize),
    /// `-a`.
    Negated(Box<Arithmetic>),
    /// `!a`.
    Not(Box<Arithmetic>),
    /// `abs`, `int`, `sqrt`.
    Call(Function, Box<Arithmetic>),
    /// An operator with both its sides.
    Binary(BinaryOperator, Box<[Arithmetic; 2]>),
    /// `a ? b : c`.
    Choice(Box<[Arithmetic; 3]>),
}

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Without its sign.
    Absolute,
    /// Without the digits after the point.
    Integer,
    /// The square root.
    Root,
}

/// An operator with two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `**`
    Power,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<=>`
    Compare,
    /// `&&`, `and`
    And,
    /// `||`, `or`
    Or,
    /// `//`
    Otherwise,
    /// `xor`
    Xor,
}

/// Operators by how tightly they bind, loosest first; whether the right side comes first.
const LEVELS: &[(&[(&str, BinaryOperator)], bool)] = &[
    (&[("or", BinaryOperator::Or), ("xor", BinaryOperator::Xor)], false),
    (&[("and", BinaryOperator::And)], false),
    // `not` is between these.
    (&[("||", BinaryOperator::Or), ("//", BinaryOperator::Otherwise)], false),
    (&[("&&", BinaryOperator::And)], false),
    (
        &[
            ("==", BinaryOperator::Equal),
            ("!=", BinaryOperator::NotEqual),
            ("<=>", BinaryOperator::Compare),
        ],
        false,
    ),
    (
        &[
            ("<=", BinaryOperator::LessOrEqual),
            (">=", BinaryOperator::GreaterOrEqual),
            ("<", BinaryOperator::Less),
            (">", BinaryOperator::Greater),
        ],
        false,
    ),
    (&[("+", BinaryOperator::Add), ("-", BinaryOperator::Subtract)], false),
    (
        &[
            ("*", BinaryOperator::Multiply),
            ("/", BinaryOperator::Divide),
            ("%", BinaryOperator::Modulo),
        ],
        false,
    ),
];

/// The level of `||`, which the sides of `?:` are of.
const OF_CHOICE: usize = 2;

impl Arithmetic {
    /// Reads an expression in which a character of Unicode's private planes is a value.
    ///
    /// # Errors
    /// If the text is no expression, or uses what is not supported.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        Self::parse_arithmetic(text).map_err(|error| match error {
            // Perl does nothing with it either.
            ExpressionError::Unsupported(what) if perl::is_wrong(text) => {
                ExpressionError::Malformed(format!("{what} is not expected"))
            }
            error => error,
        })
    }

    fn parse_arithmetic(text: &str) -> Result<Self, ExpressionError> {
        // Statements that are empty.
        let text = text.trim_matches(|c: char| c == ';' || c.is_ascii_whitespace());
        let mut parser = Parser { scanner: Scanner::new(text)?, depth: 0 };
        let expression = parser.level(0)?;
        match parser.scanner.peek() {
            Token::End => Ok(expression),
            other => Err(ExpressionError::Malformed(format!("{other} is not expected"))),
        }
    }

    /// Evaluates the expression; `values` gives the values of numbered values, `None` for unknown ones.
    ///
    /// # Errors
    /// If a needed value is unknown, or there is no result.
    pub fn evaluate(&self, values: &dyn Fn(usize) -> Option<Decimal>) -> Result<Decimal, NoValue> {
        match self {
            Arithmetic::Number(number) => Ok(number.clone()),
            Arithmetic::Value(number) => values(*number).ok_or(NoValue::Unknown),
            Arithmetic::Negated(inner) => Ok(inner.evaluate(values)?.negated()),
            Arithmetic::Not(inner) => Ok(truth(!inner.is_true(values)?)),
            Arithmetic::Call(function, inner) => {
                let value = inner.evaluate(values)?;
                match function {
                    Function::Absolute => Ok(value.absolute()),
                    Function::Integer => Ok(value.truncated()),
                    Function::Root => value.root().map_err(NoValue::Arithmetic),
                }
            }
            Arithmetic::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                if condition.is_true(values)? { yes } else { no }.evaluate(values)
            }
            Arithmetic::Binary(operator, sides) => {
                let [left, right] = &**sides;
                match operator {
                    BinaryOperator::And if !left.is_true(values)? => left.evaluate(values),
                    BinaryOperator::Or if left.is_true(values)? => left.evaluate(values),
                    BinaryOperator::And | BinaryOperator::Or => right.evaluate(values),
                    BinaryOperator::Otherwise => match left.evaluate(values) {
                        Err(NoValue::Unknown) => right.evaluate(values),
                        value => value,
                    },
                    BinaryOperator::Xor => {
                        Ok(truth(left.is_true(values)? != right.is_true(values)?))
                    }
                    _ => binary(*operator, &left.evaluate(values)?, &right.evaluate(values)?),
                }
            }
        }
    }

    /// Whether the value is neither unknown nor 0.
    fn is_true(&self, values: &dyn Fn(usize) -> Option<Decimal>) -> Result<bool, NoValue> {
        match self {
            // A value by itself may be asked whether it is known.
            Arithmetic::Value(number) => Ok(values(*number).is_some_and(|value| !value.is_zero())),
            _ => Ok(!self.evaluate(values)?.is_zero()),
        }
    }

    /// The numbers of the values that it is over, in order of appearance, each once.
    pub fn values(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect(&self, found: &mut Vec<usize>) {
        match self {
            Arithmetic::Number(_) => {}
            Arithmetic::Value(number) => {
                if !found.contains(number) {
                    found.push(*number);
                }
            }
            Arithmetic::Negated(inner) | Arithmetic::Not(inner) | Arithmetic::Call(_, inner) => {
                inner.collect(found);
            }
            Arithmetic::Binary(_, sides) => sides.iter().for_each(|side| side.collect(found)),
            Arithmetic::Choice(parts) => parts.iter().for_each(|part| part.collect(found)),
        }
    }

    /// Renames its values.
    pub fn renumber(&mut self, number: &dyn Fn(usize) -> usize) {
        match self {
            Arithmetic::Number(_) => {}
            Arithmetic::Value(value) => *value = number(*value),
            Arithmetic::Negated(inner) | Arithmetic::Not(inner) | Arithmetic::Call(_, inner) => {
                inner.renumber(number);
            }
            Arithmetic::Binary(_, sides) => sides.iter_mut().for_each(|side| side.renumber(number)),
            Arithmetic::Choice(parts) => parts.iter_mut().for_each(|part| part.renumber(number)),
        }
    }
}

fn truth(is_true: bool) -> Decimal {
    Decimal::from(u64::from(is_true))
}

fn binary(operator: BinaryOperator, left: &Decimal, right: &Decimal) -> Result<Decimal, NoValue> {
    let number = match operator {
        BinaryOperator::Add => left.plus(right),
        BinaryOperator::Subtract => left.minus(right),
        BinaryOperator::Multiply => left.times(right),
        BinaryOperator::Divide => left.divided(right),
        BinaryOperator::Modulo => left.remainder(right),
        BinaryOperator::Power => left.power(right),
        BinaryOperator::Less => Ok(truth(left < right)),
        BinaryOperator::LessOrEqual => Ok(truth(left <= right)),
        BinaryOperator::Greater => Ok(truth(left > right)),
        BinaryOperator::GreaterOrEqual => Ok(truth(left >= right)),
        BinaryOperator::Equal => Ok(truth(left == right)),
        BinaryOperator::NotEqual => Ok(truth(left != right)),
        BinaryOperator::Compare => Ok(Decimal::from(left.cmp(right) as i128)),
        BinaryOperator::And
        | BinaryOperator::Or
        | BinaryOperator::Otherwise
        | BinaryOperator::Xor => Ok(Decimal::zero()),
    };
    number.map_err(NoValue::Arithmetic)
}

struct Parser {
    scanner: Scanner,
    depth: usize,
}

type Parsed = Result<Arithmetic, ExpressionError>;

impl Parser {
    fn level(&mut self, level: usize) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(ExpressionError::Malformed("too many parentheses".to_owned()));
        }
        let parsed = self.level_within(level);
        self.depth -= 1;
        parsed
    }

    fn level_within(&mut self, level: usize) -> Parsed {
        if level == OF_CHOICE {
            if self.scanner.take_symbol("not") {
                return Ok(Arithmetic::Not(Box::new(self.level(OF_CHOICE)?)));
            }
            let condition = self.binary_level(level)?;
            if !self.scanner.take_symbol("?") {
                return Ok(condition);
            }
            let yes = self.level(OF_CHOICE)?;
            self.expect(":")?;
            let no = self.level(OF_CHOICE)?;
            return Ok(Arithmetic::Choice(Box::new([condition, yes, no])));
        }
        self.binary_level(level)
    }

    fn binary_level(&mut self, level: usize) -> Parsed {
        let Some((operators, _)) = LEVELS.get(level) else { return self.unary() };
        let next = |parser: &mut Self| match level + 1 {
            OF_CHOICE => parser.level(OF_CHOICE),
            next => parser.binary_level(next),
        };
        let mut left = next(self)?;
        let mut count = 0;
        loop {
            let found = operators.iter().find(|(text, _)| self.scanner.take_symbol(text));
            let Some((_, operator)) = found else { return Ok(left) };
            count += 1;
            if count > 10 * DEPTH_MAX {
                return Err(ExpressionError::Malformed("too many operators".to_owned()));
            }
            let right = next(self)?;
            left = Arithmetic::Binary(*operator, Box::new([left, right]));
        }
    }

    /// `-a`, `!a`; both bind less tightly than `**`.
    fn unary(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(ExpressionError::Malformed("too many signs".to_owned()));
        }
        let parsed = if self.scanner.take_symbol("-") {
            Ok(Arithmetic::Negated(Box::new(self.unary()?)))
        } else if self.scanner.take_symbol("+") {
            self.unary()
        } else if self.scanner.take_symbol("!") {
            Ok(Arithmetic::Not(Box::new(self.unary()?)))
        } else {
            self.power()
        };
        self.depth -= 1;
        parsed
    }

    fn power(&mut self) -> Parsed {
        let base = self.primary()?;
        if !self.scanner.take_symbol("**") {
            return Ok(base);
        }
        // `2 ** -1` and `2 ** 3 ** 2`: the right side comes first.
        let exponent = self.unary()?;
        Ok(Arithmetic::Binary(BinaryOperator::Power, Box::new([base, exponent])))
    }

    fn primary(&mut self) -> Parsed {
        match self.scanner.next_token() {
            Token::Number(number) => Ok(Arithmetic::Number(number)),
            Token::Value(number) => Ok(Arithmetic::Value(number)),
            Token::Symbol("(") => {
                let inner = self.level(0)?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Word(word) => self.call(&word),
            other => Err(ExpressionError::Malformed(format!(
                "{other} is not expected where a number or a query should be"
            ))),
        }
    }

    fn call(&mut self, word: &str) -> Parsed {
        let function = match word {
            "abs" => Function::Absolute,
            "int" => Function::Integer,
            "sqrt" => Function::Root,
            _ if matches!(self.scanner.peek(), Token::Symbol("(")) || is_perl_function(word) => {
                return Err(ExpressionError::Unsupported(format!("the function {word}")));
            }
            _ => return Err(ExpressionError::Malformed(format!("`{word}` is not expected"))),
        };
        // A function of one number binds less tightly than arithmetic's products, but all that
        // stands in parentheses after it is its argument.
        let argument = match self.scanner.peek() {
            Token::Symbol("(") => self.primary()?,
            _ => self.binary_level(LEVELS.len() - 2)?,
        };
        Ok(Arithmetic::Call(function, Box::new(argument)))
    }

    fn expect(&mut self, symbol: &'static str) -> Result<(), ExpressionError> {
        if self.scanner.take_symbol(symbol) {
            return Ok(());
        }
        let found = self.scanner.peek();
        Err(ExpressionError::Malformed(format!("`{symbol}` is missing before {found}")))
    }
}

/// Functions of Perl that somebody may have used in a target.
fn is_perl_function(word: &str) -> bool {
    const NAMES: &[&str] = &[
        "sin", "cos", "atan2", "exp", "log", "hex", "oct", "rand", "time", "length", "ord", "chr",
        "lc", "uc", "substr", "sprintf", "join", "split", "do", "eval", "my", "if", "unless", "x",
        "eq", "ne", "lt", "gt", "le", "ge", "cmp", "sub", "return", "defined", "ref",
    ];
    NAMES.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<String, String> {
        let parsed = Arithmetic::parse(text).map_err(|error| format!("{error:?}"))?;
        let values = |number: usize| (number > 0).then(|| Decimal::from(number as u64 * 10));
        parsed
            .evaluate(&values)
            .map(|value| value.to_string())
            .map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn operators_bind_as_in_perl() {
        for (text, expected) in [
            ("1 + 2 * 3", "7"),
            ("-2 ** 2", "-4"),
            ("2 ** 3 ** 2", "512"),
            ("2 ** -1", "0.5"),
            ("(1 + 2) * 3", "9"),
            ("7 % 4 / 2", "1.5"),
            ("-7 % 3", "2"),
            ("7 % -3", "-2"),
            ("1 ? 2 : 3 ? 4 : 5", "2"),
            ("0 || 7", "7"),
            ("5 > 3 && 2 < 1", "0"),
            ("not 0", "1"),
            ("!1 + 5", "5"),
            ("0x1F + 010 + 0b11 + 1_000 + .5 + 1.", "1043.5"),
            ("1e3 - 1", "999"),
            ("int(7 / 2) + abs(-3) + sqrt 16", "10"),
            ("1 <=> 2", "-1"),
            ("3 # a comment", "3"),
            ("10 / 4 - -1", "3.5"),
            ("1 xor 1", "0"),
            ("; 2 ;;", "2"),
        ] {
            assert_eq!(value(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn unknown_values_make_the_result_unknown() {
        let unknown = char::from_u32(0xF_0000).expect("a character");
        let known = char::from_u32(0xF_0002).expect("a character");
        assert_eq!(value(&format!("{known} / 4")).as_deref(), Ok("5"));
        assert_eq!(value(&format!("{known} + {unknown}")), Err("Unknown".to_owned()));
        assert_eq!(value(&format!("{unknown} // 3")).as_deref(), Ok("3"));
        assert_eq!(value(&format!("{unknown} || 3")).as_deref(), Ok("3"));
        assert_eq!(value(&format!("{unknown} ? 1 : 2")).as_deref(), Ok("2"));
    }

    #[test]
    fn what_is_not_arithmetic_is_refused_by_name() {
        for (text, expected) in [
            ("sin(1)", "Unsupported(\"the function sin\")"),
            ("max(1, 2)", "Malformed(\"the function max is not expected\")"),
            ("$x + 1", "Malformed(\"the variable $x is not expected\")"),
            ("$_ + 1", "Unsupported(\"the variable $_\")"),
            ("1 << 2", "Unsupported(\"the operator <<\")"),
            ("'a' . 'b'", "Unsupported(\"a text in quotes\")"),
            ("1 +", "Malformed(\"the end is not expected where a number or a query should be\")"),
            ("2; 3", "Malformed(\"`;` is not expected\")"),
            ("(1", "Malformed(\"`)` is missing before the end\")"),
            ("public", "Malformed(\"`public` is not expected\")"),
            ("1 2", "Malformed(\"the number 2 is not expected\")"),
        ] {
            assert_eq!(value(text), Err(expected.to_owned()), "{text}");
        }
        let deep = "(".repeat(100_000);
        assert!(value(&deep).is_err());
        assert!(value(&"-".repeat(100_000)).is_err());
        assert!(value(&"1+".repeat(100_000)).is_err());
        assert_eq!(value("9 ** 9 ** 9"), Err("Arithmetic(TooLong)".to_owned()));
        assert_eq!(value("1 / 0"), Err("Arithmetic(DivisionByZero)".to_owned()));
    }
}
