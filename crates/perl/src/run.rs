//! Evaluates a program.

use std::collections::HashMap;

use regex::bytes::Regex;

use super::fault::{PerlFault, RunError};
use super::number::{self, Number};
use super::regexes::compile;
use super::sprintf::sprintf;
use super::syntax::{Binary, Change, Function, Logic, Node, Pattern, Substitute, Table, Target};
use super::value::Value;

/// What a program finds around it besides its variables.
pub trait PerlEnvironment {
    /// Bytes of the longest text that a program may make.
    fn text_bytes_max(&self) -> usize;

    /// Elements of the dialect's array.
    fn array_length(&self) -> usize {
        0
    }

    /// An element of the dialect's array; `undef` if there is none.
    fn element(&self, _index: usize) -> Value {
        Value::Nothing
    }

    /// All elements of the dialect's array as texts.
    fn elements(&self) -> Vec<Vec<u8>> {
        (0..self.array_length()).map(|index| self.element(index).into_text()).collect()
    }

    /// Does the work of a function of [`Dialect::own`](crate::Dialect::own).
    ///
    /// # Errors
    /// If the function has no result, which ends the program.
    fn call(&mut self, function: &'static str, arguments: Vec<Value>) -> Result<Value, PerlFault>;
}

/// Variables of a program.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// `$_`.
    pub topic: Value,
    /// Scalars by name, without `$`.
    pub scalars: HashMap<String, Value>,
    /// Hashes by name, as in `$name{key}`.
    pub hashes: HashMap<String, HashMap<String, Value>>,
}

/// What ends an evaluation early.
enum Stop {
    Return(Value),
    Fault(PerlFault),
}

impl From<PerlFault> for Stop {
    fn from(fault: PerlFault) -> Self {
        Stop::Fault(fault)
    }
}

type Result<T, E = Stop> = std::result::Result<T, E>;

/// Runs a program.
pub(crate) fn run(
    root: &Node,
    scope: &mut Scope,
    environment: &mut dyn PerlEnvironment,
) -> Result<Value, RunError> {
    let text_bytes_max = environment.text_bytes_max();
    let mut machine = Machine { scope, environment, text_bytes_max, groups: Vec::new(), line: 1 };
    match machine.node(root) {
        Ok(value) | Err(Stop::Return(value)) => Ok(value),
        Err(Stop::Fault(fault)) => Err(RunError { line: machine.line, fault }),
    }
}

struct Machine<'a> {
    scope: &'a mut Scope,
    environment: &'a mut dyn PerlEnvironment,
    text_bytes_max: usize,
    /// The groups of the last match, with the whole match first.
    groups: Vec<Option<Vec<u8>>>,
    /// The line of the statement that is evaluated.
    line: usize,
}

fn fail<T>(why: &str) -> Result<T> {
    Err(Stop::Fault(PerlFault::new(why)))
}

impl Machine<'_> {
    fn limited(&self, text: Vec<u8>) -> Result<Value> {
        if text.len() > self.text_bytes_max {
            Err(PerlFault::TooLong.into())
        } else {
            Ok(Value::Text(text))
        }
    }

    fn text(&mut self, node: &Node) -> Result<Vec<u8>> {
        Ok(self.node(node)?.into_text())
    }

    fn node(&mut self, node: &Node) -> Result<Value> {
        Ok(match node {
            Node::Nothing => Value::Nothing,
            Node::Text(text) => Value::Text(text.clone()),
            Node::Number(value) => Value::Number(*value),
            Node::Joined(parts) => {
                let text = self.joined(parts)?;
                return self.limited(text);
            }
            Node::Variable(name) => self.variable(name).clone(),
            Node::Group(number) => match self.groups.get(*number) {
                Some(Some(text)) => Value::Text(text.clone()),
                _ => Value::Nothing,
            },
            Node::Element(index) => {
                let index = self.node(index)?.number().as_i64();
                let length = self.environment.array_length() as i64;
                let index = if index < 0 { index + length } else { index };
                let index = usize::try_from(index).ok();
                index.map_or(Value::Nothing, |index| self.environment.element(index))
            }
            Node::ArrayLength { last } => {
                let length = self.environment.array_length() as i64;
                Value::from(length - i64::from(*last))
            }
            Node::Elements => return self.limited(self.environment.elements().join(&b' ')),
            Node::HashElement(name, key) => return self.hash_element(name, key),
            Node::Block(statements) => {
                let mut last = Value::Nothing;
                for (line, statement) in statements {
                    self.line = *line;
                    last = self.node(statement)?;
                }
                last
            }
            Node::If(condition, then, otherwise) => {
                let condition = self.node(condition)?;
                return match otherwise {
                    _ if condition.is_true() => self.node(then),
                    Some(otherwise) => self.node(otherwise),
                    None => Ok(condition),
                };
            }
            Node::Not(inner) => Value::from(!self.node(inner)?.is_true()),
            Node::Negate(inner) => Value::Number(match self.node(inner)?.number() {
                Number::Integer(value) => Number::Integer(value.wrapping_neg()),
                Number::Float(value) => Number::Float(-value),
            }),
            Node::Logic(logic, left, right) => {
                let left = self.node(left)?;
                if self.decides(*logic, &left) { left } else { return self.node(right) }
            }
            Node::Binary(operator, left, right) => {
                let (left, right) = (self.node(left)?, self.node(right)?);
                return self.binary(*operator, left, &right);
            }
            Node::Return(value) => return Err(Stop::Return(self.node(value)?)),
            Node::Die(why) => return fail(self.node(why)?.string().trim_end()),
            _ => return self.changing(node),
        })
    }

    /// Evaluates nodes that change a variable, match, or call.
    fn changing(&mut self, node: &Node) -> Result<Value> {
        match node {
            Node::Assign(operator, target, right) => {
                let mut right = self.node(right)?;
                if let Some(operator) = operator {
                    let left = self.load(target)?;
                    right = self.binary(*operator, left, &right)?;
                }
                self.store(target, right.clone())?;
                Ok(right)
            }
            Node::AssignIf(logic, target, right) => {
                let left = self.load(target)?;
                if self.decides(*logic, &left) {
                    return Ok(left);
                }
                let right = self.node(right)?;
                self.store(target, right.clone())?;
                Ok(right)
            }
            Node::Step { target, down, before } => {
                let old = self.load(target)?;
                let new = step(&old, *down);
                self.store(target, new.clone())?;
                Ok(if *before { new } else { old })
            }
            Node::Match { of, pattern, negated } => {
                let text = self.text(of)?;
                let regex = self.regex(pattern)?;
                let is_match = self.remember(&regex, &text);
                Ok(Value::from(is_match != *negated))
            }
            Node::Substitute(substitute) => self.substitute(substitute),
            Node::Translate { of, table } => self.translate(of, table),
            Node::Call(function, arguments) => self.call(*function, arguments),
            _ => Ok(Value::Nothing),
        }
    }

    fn decides(&self, logic: Logic, left: &Value) -> bool {
        match logic {
            Logic::And => !left.is_true(),
            Logic::Or => left.is_true(),
            Logic::DefinedOr => !matches!(left, Value::Nothing),
        }
    }

    fn values(&mut self, nodes: &[Node]) -> Result<Vec<Value>> {
        nodes.iter().map(|node| self.node(node)).collect()
    }

    fn joined(&mut self, parts: &[Node]) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for part in parts {
            self.node(part)?.write(&mut text);
        }
        Ok(text)
    }

    fn variable(&self, name: &str) -> &Value {
        match name {
            "_" => &self.scope.topic,
            name => self.scope.scalars.get(name).unwrap_or(&Value::Nothing),
        }
    }

    fn hash_element(&mut self, name: &str, key: &Node) -> Result<Value> {
        let key = self.node(key)?.string();
        let hash = self.scope.hashes.get(name);
        Ok(hash.and_then(|hash| hash.get(&key)).cloned().unwrap_or_default())
    }

    fn load(&mut self, target: &Target) -> Result<Value> {
        match target {
            Target::Variable(name) => Ok(self.variable(name).clone()),
            Target::HashElement(name, key) => self.hash_element(name, key),
            Target::Part { of, from, count } => {
                let text = self.load(of)?.into_text();
                let range = self.part(text.len(), from, count.as_ref())?;
                Ok(range.map_or(Value::Nothing, |range| Value::Text(text[range].to_vec())))
            }
        }
    }

    fn store(&mut self, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Variable(name) if name == "_" => self.scope.topic = value,
            Target::Variable(name) => {
                self.scope.scalars.insert(name.clone(), value);
            }
            Target::HashElement(name, key) => {
                let key = self.node(key)?.string();
                self.scope.hashes.entry(name.clone()).or_default().insert(key, value);
            }
            Target::Part { of, from, count } => {
                let mut text = self.load(of)?.into_text();
                let Some(range) = self.part(text.len(), from, count.as_ref())? else {
                    return fail("changes a part that is outside of its text");
                };
                text.splice(range, value.into_text());
                let text = self.limited(text)?;
                self.store(of, text)?;
            }
        }
        Ok(())
    }

    /// The range of `substr`: negative numbers count from the end.
    fn part(
        &mut self,
        length: usize,
        from: &Node,
        count: Option<&Node>,
    ) -> Result<Option<std::ops::Range<usize>>> {
        let length = length as i64;
        let from = self.node(from)?.number().as_i64();
        let count = match count {
            Some(count) => Some(self.node(count)?.number().as_i64()),
            None => None,
        };
        let start = if from < 0 { length.saturating_add(from) } else { from };
        if start > length {
            return Ok(None);
        }
        let end = match count {
            None => length,
            Some(count) if count < 0 => length.saturating_add(count),
            Some(count) => start.saturating_add(count).min(length),
        };
        if start < 0 && (end < 0 || (end == 0 && start != 0 && count.is_some())) {
            return Ok(None);
        }
        let start = start.max(0);
        Ok(Some(start as usize..end.max(start) as usize))
    }

    fn regex(&mut self, pattern: &Pattern) -> Result<Regex> {
        match pattern {
            Pattern::Fixed(regex) => Ok(regex.clone()),
            Pattern::Variable { parts, flags } => {
                let text = self.joined(parts)?;
                compile(&text, flags).or_else(|why| fail(&format!("fails: {why}")))
            }
        }
    }

    /// Matches, and stores the groups if it does.
    fn remember(&mut self, regex: &Regex, text: &[u8]) -> bool {
        let Some(groups) = regex.captures(text) else { return false };
        self.groups =
            groups.iter().map(|group| group.map(|group| group.as_bytes().to_vec())).collect();
        true
    }

    fn substitute(&mut self, substitute: &Substitute) -> Result<Value> {
        let text = self.load(&substitute.of)?.into_text();
        let regex = self.regex(&substitute.pattern)?;
        let (mut out, mut done, mut count) = (Vec::new(), 0, 0_usize);
        // An empty match may directly follow a match, but not another empty one.
        let (mut from, mut empty_at) = (0, None);
        while from <= text.len() && (substitute.every || count == 0) {
            let Some(groups) = regex.captures_at(&text, from) else { break };
            let all = groups.get(0).map_or(0..0, |all| all.range());
            if all.is_empty() && empty_at == Some(all.start) {
                from += 1;
                continue;
            }
            (from, empty_at) = (all.end, all.is_empty().then_some(all.start));
            self.groups =
                groups.iter().map(|group| group.map(|group| group.as_bytes().to_vec())).collect();
            out.extend_from_slice(&text[done..all.start]);
            self.node(&substitute.to)?.write(&mut out);
            done = all.end;
            count += 1;
            if out.len() > self.text_bytes_max {
                return Err(PerlFault::TooLong.into());
            }
        }
        if substitute.is_result {
            out.extend_from_slice(&text[done..]);
            return self.limited(out);
        }
        if count > 0 {
            out.extend_from_slice(&text[done..]);
            let out = self.limited(out)?;
            self.store(&substitute.of, out)?;
        }
        Ok(if count > 0 { Value::count(count) } else { Value::from(false) })
    }

    fn translate(&mut self, of: &Target, table: &Table) -> Result<Value> {
        let text = self.load(of)?.into_text();
        let (mut out, mut count) = (Vec::with_capacity(text.len()), 0);
        let mut last = None;
        for byte in text {
            let change = table.to[usize::from(byte)];
            count += usize::from(change != Change::None);
            match change {
                Change::None => {
                    out.push(byte);
                    last = None;
                }
                Change::Delete => {}
                Change::To(to) => {
                    if !(table.squeeze && last == Some(to)) {
                        out.push(to);
                    }
                    last = Some(to);
                }
            }
        }
        if table.is_result {
            return Ok(Value::Text(out));
        }
        self.store(of, Value::Text(out))?;
        Ok(Value::count(count))
    }

    fn binary(&self, operator: Binary, left: Value, right: &Value) -> Result<Value> {
        use std::cmp::Ordering;
        let numbers = || (left.number(), right.number());
        let number_order = || {
            let (left, right) = numbers();
            match (left, right) {
                (Number::Integer(left), Number::Integer(right)) => Some(left.cmp(&right)),
                _ => left.as_f64().partial_cmp(&right.as_f64()),
            }
        };
        let text_order = || left.clone().into_text().cmp(&right.clone().into_text());
        let by_number = |wanted: &[Ordering]| {
            Ok(Value::from(number_order().is_some_and(|order| wanted.contains(&order))))
        };
        let by_text = |wanted: &[Ordering]| Ok(Value::from(wanted.contains(&text_order())));
        match operator {
            Binary::Concatenate => {
                let mut text = left.into_text();
                right.write(&mut text);
                self.limited(text)
            }
            Binary::Repeat => {
                let times = usize::try_from(right.number().as_i64()).unwrap_or(0);
                let text = left.into_text();
                if text.len().saturating_mul(times) > self.text_bytes_max {
                    return Err(PerlFault::TooLong.into());
                }
                Ok(Value::Text(text.repeat(times)))
            }
            Binary::Equal => by_number(&[Ordering::Equal]),
            Binary::NotEqual => Ok(Value::from(number_order() != Some(Ordering::Equal))),
            Binary::Less => by_number(&[Ordering::Less]),
            Binary::LessEqual => by_number(&[Ordering::Less, Ordering::Equal]),
            Binary::Greater => by_number(&[Ordering::Greater]),
            Binary::GreaterEqual => by_number(&[Ordering::Greater, Ordering::Equal]),
            Binary::Order => {
                Ok(number_order().map_or(Value::Nothing, |order| Value::from(order as i64)))
            }
            Binary::TextEqual => by_text(&[Ordering::Equal]),
            Binary::TextNotEqual => by_text(&[Ordering::Less, Ordering::Greater]),
            Binary::TextLess => by_text(&[Ordering::Less]),
            Binary::TextLessEqual => by_text(&[Ordering::Less, Ordering::Equal]),
            Binary::TextGreater => by_text(&[Ordering::Greater]),
            Binary::TextGreaterEqual => by_text(&[Ordering::Greater, Ordering::Equal]),
            Binary::TextOrder => Ok(Value::from(text_order() as i64)),
            _ => {
                let (left, right) = numbers();
                arithmetic(operator, left, right).map(Value::Number).map_or_else(fail, Ok)
            }
        }
    }

    fn call(&mut self, function: Function, arguments: &[Node]) -> Result<Value> {
        use Function as F;
        let float = |value: f64| Ok(Value::from(value));
        match function {
            F::Join => return self.join(arguments),
            F::Sprintf => {
                let text = sprintf(&self.values(arguments)?, self.text_bytes_max)?;
                return self.limited(text);
            }
            F::Own(name) => {
                let values = self.values(arguments)?;
                return Ok(self.environment.call(name, values)?);
            }
            F::Index | F::RightIndex => return self.index(function, arguments),
            F::Substr => {
                let text = self.text(&arguments[0])?;
                let range = self.part(text.len(), &arguments[1], arguments.get(2))?;
                return Ok(range.map_or(Value::Nothing, |range| Value::Text(text[range].to_vec())));
            }
            _ => {}
        }
        let Some(argument) = arguments.first() else { return Ok(Value::Nothing) };
        let value = self.node(argument)?;
        match function {
            F::Defined => Ok(Value::from(!matches!(value, Value::Nothing))),
            F::Int => Ok(Value::Number(value.number().truncated())),
            F::Abs => float(value.number().as_f64().abs()),
            F::Exp => float(value.number().as_f64().exp()),
            F::Sqrt | F::Log => {
                let number = value.number().as_f64();
                let is_outside = if function == F::Sqrt { number < 0.0 } else { number <= 0.0 };
                if is_outside {
                    return fail("takes the root or logarithm of a number that has none");
                }
                float(if function == F::Sqrt { number.sqrt() } else { number.ln() })
            }
            _ => self.text_call(function, value.into_text()),
        }
    }

    fn text_call(&self, function: Function, mut text: Vec<u8>) -> Result<Value> {
        use Function as F;
        match function {
            F::Length => return Ok(Value::count(text.len())),
            F::Upper => text.make_ascii_uppercase(),
            F::Lower => text.make_ascii_lowercase(),
            F::UpperFirst => text.iter_mut().take(1).for_each(u8::make_ascii_uppercase),
            F::LowerFirst => text.iter_mut().take(1).for_each(u8::make_ascii_lowercase),
            F::Reverse => text.reverse(),
            F::Ord => return Ok(Value::count(text.first().copied().map_or(0, usize::from))),
            F::Chr => {
                let code = number::prefix(&text).1.as_i64();
                return match u8::try_from(code) {
                    Ok(byte) => Ok(Value::Text(vec![byte])),
                    Err(_) => fail("needs a byte above 255"),
                };
            }
            F::Hex | F::Oct => {
                let text = String::from_utf8_lossy(&text).trim().to_lowercase();
                let (digits, radix) = match (function, &text) {
                    (F::Hex, text) => (text.trim_start_matches("0x"), 16),
                    (_, text) if text.starts_with("0x") => (&text[2..], 16),
                    (_, text) if text.starts_with("0b") => (&text[2..], 2),
                    (_, text) => (text.as_str(), 8),
                };
                let end = digits.find(|letter: char| !letter.is_digit(radix));
                let digits = &digits[..end.unwrap_or(digits.len())];
                let value = i64::from_str_radix(digits, radix).unwrap_or(0);
                return Ok(Value::from(value));
            }
            _ => return Ok(Value::Nothing),
        }
        Ok(Value::Text(text))
    }

    fn join(&mut self, arguments: &[Node]) -> Result<Value> {
        let between = self.text(&arguments[0])?;
        let mut texts = Vec::new();
        for argument in &arguments[1..] {
            match argument {
                Node::Elements => texts.extend(self.environment.elements()),
                argument => texts.push(self.text(argument)?),
            }
        }
        self.limited(texts.join(&between[..]))
    }

    fn index(&mut self, function: Function, arguments: &[Node]) -> Result<Value> {
        let (text, part) = (self.text(&arguments[0])?, self.text(&arguments[1])?);
        let at = match arguments.get(2) {
            Some(at) => Some(self.node(at)?.number().as_i64().max(0) as usize),
            None => None,
        };
        let found = if function == Function::Index {
            let from = at.unwrap_or(0).min(text.len());
            memchr::memmem::find(&text[from..], &part).map(|place| place + from)
        } else {
            let end = at.map_or(text.len(), |at| (at + part.len()).min(text.len()));
            memchr::memmem::rfind(&text[..end], &part)
        };
        Ok(found.map_or(Value::from(-1_i64), Value::count))
    }
}

/// Increments or decrements.  A text of letters and then digits is incremented as in Perl: `az`,
/// `ba`.
fn step(old: &Value, down: bool) -> Value {
    if let (Value::Text(text), false) = (old, down) {
        let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let is_counted = letters > 0 && text[letters..].iter().all(u8::is_ascii_digit);
        if is_counted {
            return Value::Text(next_text(text.clone()));
        }
    }
    let by = if down { -1 } else { 1 };
    Value::Number(match old.number() {
        Number::Integer(value) => Number::Integer(value.saturating_add(by)),
        Number::Float(value) => Number::Float(value + by as f64),
    })
}

fn next_text(mut text: Vec<u8>) -> Vec<u8> {
    for place in (0..text.len()).rev() {
        let (first, last) = match text[place] {
            b'0'..=b'9' => (b'0', b'9'),
            b'a'..=b'z' => (b'a', b'z'),
            _ => (b'A', b'Z'),
        };
        if text[place] != last {
            text[place] += 1;
            return text;
        }
        text[place] = first;
    }
    let first = if text[0] == b'0' { b'1' } else { text[0] };
    text.insert(0, first);
    text
}

fn arithmetic(operator: Binary, left: Number, right: Number) -> Result<Number, &'static str> {
    let (x, y) = (left.as_f64(), right.as_f64());
    let integers = match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => Some((left, right)),
        _ => None,
    };
    let exact = |checked: fn(i64, i64) -> Option<i64>| {
        integers.and_then(|(left, right)| checked(left, right)).map(Number::Integer)
    };
    Ok(match operator {
        Binary::Add => exact(i64::checked_add).unwrap_or(number::whole(x + y)),
        Binary::Subtract => exact(i64::checked_sub).unwrap_or(number::whole(x - y)),
        Binary::Multiply => exact(i64::checked_mul).unwrap_or(number::whole(x * y)),
        Binary::Divide if y == 0.0 => return Err("divides by zero"),
        Binary::Divide => number::whole(x / y),
        Binary::Remainder => {
            let (left, right) = (left.as_i64(), right.as_i64());
            let Some(rest) = left.checked_rem(right) else { return Err("divides by zero") };
            // The result has the sign of the right side.
            let differs = rest != 0 && (rest < 0) != (right < 0);
            Number::Integer(if differs { rest + right } else { rest })
        }
        _ => number::whole(x.powf(y)),
    })
}
