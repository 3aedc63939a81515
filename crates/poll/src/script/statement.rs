//! Statements: expressions, conditions, `return` and `die`.

use super::ScriptError;
use super::expression::{Expression, expression};
use super::scanner::Scanner;

/// A statement.
#[derive(Debug, Clone)]
pub(super) enum Statement {
    /// An expression, and its line.
    Plain(Expression, usize),
    /// Conditions with what is done, and what is done if none holds.
    If(Vec<(Expression, Vec<Statement>)>, Vec<Statement>),
    /// Ends the script.
    Return(Expression),
    /// Ends the script with an error.
    Die(Expression, usize),
}

const REFUSED: [&str; 16] = [
    "foreach", "for", "while", "until", "sub", "package", "use", "no", "require", "local", "our",
    "print", "printf", "open", "do", "eval",
];

/// The statements up to the end, or up to `}` of a block.
pub(super) fn statements(
    scanner: &mut Scanner,
    is_block: bool,
) -> Result<Vec<Statement>, ScriptError> {
    let mut all = Vec::new();
    loop {
        while scanner.take(";") {}
        if scanner.is_at_end() {
            return match is_block {
                true => Err(scanner.error("`}` is wanted at the end")),
                false => Ok(all),
            };
        }
        if is_block && scanner.take("}") {
            return Ok(all);
        }
        all.push(statement(scanner)?);
    }
}

fn statement(scanner: &mut Scanner) -> Result<Statement, ScriptError> {
    let word = scanner.peek_word();
    if REFUSED.contains(&word.as_str()) {
        return Err(scanner.refused(&format!("`{word}`")));
    }
    if word == "if" || word == "unless" {
        scanner.take_word(&word);
        return condition(scanner, word == "unless");
    }
    let line = scanner.line();
    let plain = if scanner.take_word("return") {
        Statement::Return(optional(scanner)?)
    } else if scanner.take_word("die") {
        Statement::Die(optional(scanner)?, line)
    } else {
        Statement::Plain(expression(scanner)?, line)
    };
    let whole = if scanner.take_word("if") {
        Statement::If(vec![(expression(scanner)?, vec![plain])], Vec::new())
    } else if scanner.take_word("unless") {
        let condition = Expression::Not(Box::new(expression(scanner)?));
        Statement::If(vec![(condition, vec![plain])], Vec::new())
    } else {
        plain
    };
    scanner.skip_spaces();
    match scanner.peek() {
        None | Some(';' | '}') => Ok(whole),
        Some(found) => {
            let word = scanner.peek_word();
            let what = if word.is_empty() { found.to_string() } else { word };
            Err(scanner.refused(&format!("`{what}` here")))
        }
    }
}

fn optional(scanner: &mut Scanner) -> Result<Expression, ScriptError> {
    scanner.skip_spaces();
    let ends = matches!(scanner.peek(), None | Some(';' | '}'));
    match ends || ["if", "unless"].contains(&scanner.peek_word().as_str()) {
        true => Ok(Expression::Nothing),
        false => expression(scanner),
    }
}

fn condition(scanner: &mut Scanner, is_unless: bool) -> Result<Statement, ScriptError> {
    scanner.deeper()?;
    let mut branches = Vec::new();
    let mut is_turned = is_unless;
    loop {
        scanner.expect("(")?;
        let mut condition = expression(scanner)?;
        scanner.expect(")")?;
        if is_turned {
            condition = Expression::Not(Box::new(condition));
        }
        is_turned = false;
        scanner.expect("{")?;
        branches.push((condition, statements(scanner, true)?));
        if !scanner.take_word("elsif") {
            break;
        }
    }
    let otherwise = match scanner.take_word("else") {
        true => {
            scanner.expect("{")?;
            statements(scanner, true)?
        }
        false => Vec::new(),
    };
    scanner.shallower();
    Ok(Statement::If(branches, otherwise))
}
