//! Running statements.

use regex::Captures;

use super::expression::Expression;
use super::statement::Statement;
use super::value::ScriptValue;
use super::{Scope, ScriptError, TEXT_SIZE_MAX};

pub(super) struct Evaluator<'a> {
    scope: &'a mut Scope,
    line: usize,
    is_ended: bool,
}

type Evaluated = Result<ScriptValue, ScriptError>;

impl<'a> Evaluator<'a> {
    pub(super) fn new(scope: &'a mut Scope) -> Self {
        Evaluator { scope, line: 1, is_ended: false }
    }

    pub(super) fn run(&mut self, statements: &[Statement]) -> Evaluated {
        let mut last = ScriptValue::Nothing;
        for statement in statements {
            last = self.statement(statement)?;
            if self.is_ended {
                break;
            }
        }
        Ok(last)
    }

    fn statement(&mut self, statement: &Statement) -> Evaluated {
        match statement {
            Statement::Plain(expression, line) => {
                self.line = *line;
                self.value(expression)
            }
            Statement::Return(expression) => {
                let value = self.value(expression)?;
                self.is_ended = true;
                Ok(value)
            }
            Statement::Die(expression, line) => {
                self.line = *line;
                let message = self.value(expression)?.text();
                Err(self.error(message.trim_end().to_owned()))
            }
            Statement::If(branches, otherwise) => {
                for (condition, statements) in branches {
                    let value = self.value(condition)?;
                    if value.is_true() {
                        return self.run(statements);
                    }
                    if otherwise.is_empty() && branches.len() == 1 {
                        return Ok(value);
                    }
                }
                self.run(otherwise)
            }
        }
    }

    fn error(&self, message: String) -> ScriptError {
        ScriptError { line: self.line, message }
    }

    fn value(&mut self, expression: &Expression) -> Evaluated {
        Ok(match expression {
            Expression::Nothing => ScriptValue::Nothing,
            Expression::Text(text) => ScriptValue::Text(text.clone()),
            Expression::Number(number) => ScriptValue::Number(*number),
            Expression::Joined(parts) => {
                let mut text = String::new();
                for part in parts {
                    text.push_str(&self.value(part)?.text());
                    self.check_size(text.len())?;
                }
                ScriptValue::Text(text)
            }
            Expression::Scalar(name) => self.scope.scalars.get(name).cloned().unwrap_or_default(),
            Expression::Element(name, key) => {
                let key = self.value(key)?.text();
                let hash = self.scope.hashes.get(name);
                hash.and_then(|hash| hash.get(&key)).cloned().unwrap_or_default()
            }
            Expression::Not(inner) => ScriptValue::truth(!self.value(inner)?.is_true()),
            Expression::Negative(inner) => ScriptValue::Number(-self.value(inner)?.number()),
            Expression::Both(left, right) => {
                let left = self.value(left)?;
                if left.is_true() { self.value(right)? } else { left }
            }
            Expression::Either(left, right) => {
                let left = self.value(left)?;
                if left.is_true() { left } else { self.value(right)? }
            }
            Expression::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                if self.value(condition)?.is_true() { self.value(yes)? } else { self.value(no)? }
            }
            Expression::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.binary(operator, &left, &right)?
            }
            Expression::Match(target, pattern) => {
                let text = self.value(target)?.text();
                let captures = pattern.captures(&text);
                let is_match = captures.is_some();
                self.keep(captures.as_ref());
                ScriptValue::truth(is_match)
            }
            Expression::Substitute { target, pattern, with, is_global } => {
                self.substitute(target, pattern, with, *is_global)?
            }
            Expression::Assign(operator, target, value) => {
                let value = self.value(value)?;
                let value = match *operator {
                    "" => value,
                    "||" => {
                        let old = self.value(target)?;
                        if old.is_true() { old } else { value }
                    }
                    operator => {
                        let old = self.value(target)?;
                        self.binary(operator, &old, &value)?
                    }
                };
                self.assign(target, value.clone())?;
                value
            }
            Expression::Call(name, arguments) => self.call(name, arguments)?,
        })
    }

    fn check_size(&self, bytes: usize) -> Result<(), ScriptError> {
        match bytes > TEXT_SIZE_MAX {
            true => Err(self.error(format!("a text becomes longer than {TEXT_SIZE_MAX} bytes"))),
            false => Ok(()),
        }
    }

    /// `$1` … `$9` of a match; a failed one leaves them.
    fn keep(&mut self, captures: Option<&Captures<'_>>) {
        let Some(captures) = captures else { return };
        for number in 1..10 {
            let text = captures.get(number).map(|part| ScriptValue::from(part.as_str()));
            self.scope.scalars.insert(number.to_string(), text.unwrap_or_default());
        }
    }

    fn assign(&mut self, target: &Expression, value: ScriptValue) -> Result<(), ScriptError> {
        match target {
            Expression::Scalar(name) => {
                self.scope.scalars.insert(name.clone(), value);
            }
            Expression::Element(name, key) => {
                let key = self.value(key)?.text();
                self.scope.hashes.entry(name.clone()).or_default().insert(key, value);
            }
            _ => return Err(self.error("only a variable can be set".to_owned())),
        }
        Ok(())
    }

    fn substitute(
        &mut self,
        target: &Expression,
        pattern: &regex::Regex,
        with: &Expression,
        is_global: bool,
    ) -> Evaluated {
        let text = self.value(target)?.text();
        let (mut out, mut from, mut count) = (String::new(), 0, 0_u32);
        for captures in pattern.captures_iter(&text) {
            let Some(whole) = captures.get(0) else { break };
            self.keep(Some(&captures));
            out.push_str(&text[from..whole.start()]);
            out.push_str(&self.value(with)?.text());
            self.check_size(out.len())?;
            from = whole.end();
            count += 1;
            if !is_global {
                break;
            }
        }
        if count > 0 {
            out.push_str(&text[from..]);
            self.assign(target, ScriptValue::Text(out))?;
        }
        Ok(if count > 0 { ScriptValue::Number(count.into()) } else { ScriptValue::truth(false) })
    }

    fn binary(&self, operator: &str, left: &ScriptValue, right: &ScriptValue) -> Evaluated {
        let (a, b) = (left.number(), right.number());
        let order = || left.text().cmp(&right.text());
        Ok(match operator {
            "+" => ScriptValue::Number(a + b),
            "-" => ScriptValue::Number(a - b),
            "*" => ScriptValue::Number(a * b),
            "/" | "%" if b == 0.0 => return Err(self.error("division by zero".to_owned())),
            "/" => ScriptValue::Number(a / b),
            "%" => ScriptValue::Number(a.trunc().rem_euclid(b.trunc().abs().max(1.0))),
            "." => {
                self.check_size(left.text().len() + right.text().len())?;
                ScriptValue::Text(left.text() + &right.text())
            }
            "x" => {
                let (text, count) = (left.text(), b.clamp(0.0, 1e15) as usize);
                self.check_size(text.len().saturating_mul(count))?;
                ScriptValue::Text(text.repeat(count))
            }
            "==" => ScriptValue::truth(a == b),
            "!=" => ScriptValue::truth(a != b),
            "<" => ScriptValue::truth(a < b),
            ">" => ScriptValue::truth(a > b),
            "<=" => ScriptValue::truth(a <= b),
            ">=" => ScriptValue::truth(a >= b),
            "eq" => ScriptValue::truth(order().is_eq()),
            "ne" => ScriptValue::truth(order().is_ne()),
            "lt" => ScriptValue::truth(order().is_lt()),
            "gt" => ScriptValue::truth(order().is_gt()),
            "le" => ScriptValue::truth(order().is_le()),
            _ => ScriptValue::truth(order().is_ge()),
        })
    }

    fn call(&mut self, name: &str, arguments: &[Expression]) -> Evaluated {
        let values: Result<Vec<_>, _> = arguments.iter().map(|one| self.value(one)).collect();
        let values = values?;
        let text = || values[0].text();
        let first = |change: fn(&char) -> char| {
            let all = text();
            let mut rest = all.chars();
            let head: String = rest.next().as_ref().map(change).into_iter().collect();
            ScriptValue::Text(head + rest.as_str())
        };
        Ok(match name {
            "lc" => text().to_lowercase().into(),
            "uc" => text().to_uppercase().into(),
            "lcfirst" => first(char::to_ascii_lowercase),
            "ucfirst" => first(char::to_ascii_uppercase),
            "length" => ScriptValue::Number(text().chars().count() as f64),
            "defined" => ScriptValue::truth(values[0] != ScriptValue::Nothing),
            "int" => ScriptValue::Number(values[0].number().trunc()),
            "abs" => ScriptValue::Number(values[0].number().abs()),
            "index" => {
                let (all, part) = (text(), values[1].text());
                let at = all.find(&part).map(|at| all[..at].chars().count());
                ScriptValue::Number(at.map_or(-1.0, |at| at as f64))
            }
            "substr" => substring(&text(), &values),
            _ => super::html_escape(&text()).into(),
        })
    }
}

/// `substr TEXT, FROM, LENGTH`; a negative place counts from the end.
fn substring(text: &str, values: &[ScriptValue]) -> ScriptValue {
    let all: Vec<char> = text.chars().collect();
    let length = all.len() as f64;
    let from = values[1].number().trunc();
    let from = if from < 0.0 { (length + from).max(0.0) } else { from.min(length) };
    let end = match values.get(2).map(|count| count.number().trunc()) {
        None => length,
        Some(count) if count < 0.0 => length + count,
        Some(count) => (from + count).min(length),
    };
    ScriptValue::Text(all[from as usize..(end.max(from)) as usize].iter().collect())
}
