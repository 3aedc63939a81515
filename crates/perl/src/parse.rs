//! Parses the text of a program to a tree.
//!
//! A recursive-descent parser with one position in the text; the meaning of a `/` or an `s` follows
//! from its context.  Unsupported features are rejected by name.

mod text;

use std::cell::RefCell;
use std::rc::Rc;

use super::ParseError;
use super::number::Literal;
use super::syntax::{
    ASSIGNING, Binary, Dialect, Function, LEVELS, Logic, NAMED_UNARY, Node, Operator, Target,
    UsedName,
};

/// Most nested levels of a program, two for each parenthesis: people write a handful, and each uses
/// some of the stack.
const DEPTH_MAX: usize = 200;
/// Operators of one statement, with those around it: each may be a level of the tree.
const OPERATORS_MAX: usize = 500;
/// Bytes of a program; templates that are in use have some kilobytes.
const PROGRAM_BYTES_MAX: usize = 1 << 20;

type Result<T> = std::result::Result<T, ParseError>;

/// Parses all statements.
pub(crate) fn program(
    code: &[u8],
    dialect: &Dialect,
    groups: &[Vec<u8>],
) -> Result<(Node, Vec<UsedName>)> {
    if code.len() > PROGRAM_BYTES_MAX {
        let message = format!("a program has at most {PROGRAM_BYTES_MAX} bytes");
        return Err(ParseError { line: 1, message });
    }
    let mut parser = Parser::new(code, dialect, groups);
    let root = parser.program()?;
    Ok((root, parser.names.take()))
}

pub(super) struct Parser<'a> {
    code: &'a [u8],
    place: usize,
    dialect: &'a Dialect,
    /// The values of `$$1`, `$$2` ....
    groups: &'a [Vec<u8>],
    /// The line of the beginning of the code.
    first_line: usize,
    /// The end of the line that has `<<TAG`, and of the lines of that text, which follow it.
    lines_taken: Option<(usize, usize)>,
    depth: usize,
    operator_count: usize,
    /// Variables in the order of the text, also those of the texts inside.
    names: Rc<RefCell<Vec<UsedName>>>,
}

impl<'a> Parser<'a> {
    fn new(code: &'a [u8], dialect: &'a Dialect, groups: &'a [Vec<u8>]) -> Self {
        Parser {
            code,
            place: 0,
            dialect,
            groups,
            first_line: 1,
            lines_taken: None,
            depth: 0,
            operator_count: 0,
            names: Rc::default(),
        }
    }

    /// A parser of a text inside of this one, which was taken up to the current position.
    fn inner<'b>(&'b self, code: &'b [u8]) -> Parser<'b> {
        let first_line = self.line();
        Parser {
            first_line,
            depth: self.depth,
            operator_count: self.operator_count,
            names: Rc::clone(&self.names),
            ..Parser::new(code, self.dialect, self.groups)
        }
    }

    fn program(&mut self) -> Result<Node> {
        let block = self.statements(false)?;
        if self.place < self.code.len() {
            return Err(self.refuse("it cannot be parsed from here on"));
        }
        Ok(block)
    }

    /// The line of the current position, from 1.
    fn line(&self) -> usize {
        let before = &self.code[..self.place.min(self.code.len())];
        self.first_line + memchr::memchr_iter(b'\n', before).count()
    }

    /// An error about the current position.
    fn refuse(&self, why: &str) -> ParseError {
        let rest = self.code.get(self.place..).unwrap_or(b"");
        let near = match &rest[..rest.len().min(30)] {
            b"" => "its end".to_owned(),
            shown => format!("\"{}\"", String::from_utf8_lossy(shown).trim_end()),
        };
        ParseError { line: self.line(), message: format!("{why}: near {near}") }
    }

    fn peek(&self) -> Option<u8> {
        self.code.get(self.place).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.code.get(self.place..).unwrap_or(b"")
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b'#' {
                self.place += memchr::memchr(b'\n', self.rest()).unwrap_or(self.rest().len());
            } else if byte.is_ascii_whitespace() {
                self.step();
            } else {
                return;
            }
        }
    }

    /// Goes on by a byte, and after a line over the lines of its `<<TAG`.
    fn step(&mut self) {
        self.place += 1;
        match self.lines_taken {
            Some((begin, end)) if begin == self.place => self.place = end,
            _ => {}
        }
    }

    fn is_at(&self, text: &str) -> bool {
        let Some(rest) = self.rest().strip_prefix(text.as_bytes()) else { return false };
        // A word ends before a character that is no letter, digit or underscore.
        let is_word = text.as_bytes()[0].is_ascii_alphabetic();
        !is_word || !rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    }

    /// Takes the text if it comes next, after blanks.
    fn take_text(&mut self, text: &str) -> bool {
        self.blanks();
        let is_here = self.is_at(text);
        self.place += if is_here { text.len() } else { 0 };
        is_here
    }

    fn take_sign(&mut self, sign: u8) -> bool {
        let is_here = self.peek() == Some(sign);
        self.place += usize::from(is_here);
        is_here
    }

    fn expect(&mut self, text: &str) -> Result<()> {
        if self.take_text(text) {
            Ok(())
        } else {
            Err(self.refuse(&format!("`{text}` is missing")))
        }
    }

    /// Parses one level deeper, within the limit.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.refuse("it is nested too deeply"));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn count_operator(&mut self) -> Result<()> {
        self.operator_count += 1;
        match self.operator_count > OPERATORS_MAX {
            true => Err(self.refuse("it has too many operators")),
            false => Ok(()),
        }
    }

    fn statements(&mut self, in_block: bool) -> Result<Node> {
        let mut statements = Vec::new();
        loop {
            while self.take_text(";") {}
            if self.peek().is_none() || (in_block && self.peek() == Some(b'}')) {
                break;
            }
            let line = self.line();
            let operator_count = self.operator_count;
            let (statement, is_block) = self.statement()?;
            self.operator_count = operator_count;
            statements.push((line, statement));
            self.blanks();
            if !matches!(self.peek(), None | Some(b';' | b'}')) && !is_block {
                return Err(match self.word_here() {
                    "" => self.refuse("an operator or `;` is missing"),
                    word => self.refuse(&format!("`{word}` is not supported here")),
                });
            }
        }
        Ok(match &mut statements[..] {
            [] => Node::Nothing,
            [(1, only)] => std::mem::replace(only, Node::Nothing),
            _ => Node::Block(statements),
        })
    }

    /// A statement, and whether it ends with a block.
    fn statement(&mut self) -> Result<(Node, bool)> {
        if self.take_text("if") {
            return Ok((self.nested(|parser| parser.condition(false))?, true));
        }
        if self.take_text("unless") {
            return Ok((self.nested(|parser| parser.condition(true))?, true));
        }
        let node = self.expression()?;
        let (is_if, is_unless) = (self.take_text("if"), self.take_text("unless"));
        if !is_if && !is_unless {
            return Ok((node, false));
        }
        let mut condition = self.expression()?;
        if is_unless {
            condition = Node::Not(Box::new(condition));
        }
        Ok((Node::If(Box::new(condition), Box::new(node), None), false))
    }

    /// What follows `if`, `unless` or `elsif`.
    fn condition(&mut self, negated: bool) -> Result<Node> {
        self.expect("(")?;
        let mut condition = self.expression()?;
        self.expect(")")?;
        if negated {
            condition = Node::Not(Box::new(condition));
        }
        let then = self.block()?;
        let otherwise = if self.take_text("elsif") {
            Some(self.nested(|parser| parser.condition(false))?)
        } else if self.take_text("else") {
            Some(self.block()?)
        } else {
            None
        };
        Ok(Node::If(Box::new(condition), Box::new(then), otherwise.map(Box::new)))
    }

    fn block(&mut self) -> Result<Node> {
        self.expect("{")?;
        let block = self.nested(|parser| parser.statements(true))?;
        self.expect("}")?;
        Ok(block)
    }

    /// With `or`, `and` and `not`, which have the lowest precedence.
    fn expression(&mut self) -> Result<Node> {
        self.nested(|parser| {
            let mut left = parser.conjunction()?;
            while parser.take_text("or") {
                parser.count_operator()?;
                let right = parser.conjunction()?;
                left = Node::Logic(Logic::Or, Box::new(left), Box::new(right));
            }
            Ok(left)
        })
    }

    fn conjunction(&mut self) -> Result<Node> {
        let mut left = self.negation()?;
        while self.take_text("and") {
            self.count_operator()?;
            let right = self.negation()?;
            left = Node::Logic(Logic::And, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Node> {
        if self.take_text("not") {
            let inner = self.nested(Self::negation)?;
            return Ok(Node::Not(Box::new(inner)));
        }
        self.assignment()
    }

    fn assignment(&mut self) -> Result<Node> {
        self.nested(|parser| {
            let (start, first_name) = (parser.place, parser.names.borrow().len());
            let left = parser.choice()?;
            let Some((text, operator)) = parser.assigning() else { return Ok(left) };
            if operator.is_none() && matches!(left, Node::Variable(_)) {
                // Templates in use have variables of their own without `my`.
                parser.declare(first_name);
            }
            let Some(target) = target_of(left) else {
                parser.place = start;
                return Err(parser.refuse("this cannot be assigned to"));
            };
            parser.place += text.len();
            let (target, right) = (Box::new(target), Box::new(parser.assignment()?));
            Ok(match operator {
                None => Node::Assign(None, target, right),
                Some(Operator::Binary(operator)) => Node::Assign(Some(operator), target, right),
                Some(Operator::Logic(logic)) => Node::AssignIf(logic, target, right),
            })
        })
    }

    fn assigning(&mut self) -> Option<(&'static str, Option<Operator>)> {
        self.blanks();
        let rest = self.rest();
        if rest.starts_with(b"==") || rest.starts_with(b"=~") {
            return None;
        }
        ASSIGNING.iter().find(|(text, _)| rest.starts_with(text.as_bytes())).copied()
    }

    fn choice(&mut self) -> Result<Node> {
        let condition = self.level(0)?;
        if !self.take_text("?") {
            return Ok(condition);
        }
        let then = self.assignment()?;
        self.expect(":")?;
        let otherwise = self.assignment()?;
        Ok(Node::If(Box::new(condition), Box::new(then), Some(Box::new(otherwise))))
    }

    /// Operators of this level and those that bind more tightly.
    fn level(&mut self, least: usize) -> Result<Node> {
        let mut left = self.binding()?;
        while let Some((level, operator)) = self.operator(least)? {
            self.count_operator()?;
            let right = Box::new(self.level(level + 1)?);
            left = match operator {
                Operator::Binary(operator) => Node::Binary(operator, Box::new(left), right),
                Operator::Logic(logic) => Node::Logic(logic, Box::new(left), right),
            };
        }
        Ok(left)
    }

    /// Takes the operator that comes next, if it is of this level or binds more tightly.
    fn operator(&mut self, least: usize) -> Result<Option<(usize, Operator)>> {
        if self.assigning().is_some() {
            return Ok(None);
        }
        let all = LEVELS.iter().enumerate().flat_map(|(level, operators)| {
            operators.iter().map(move |(text, operator)| (level, *text, *operator))
        });
        let found =
            all.filter(|(_, text, _)| self.is_at(text)).max_by_key(|(_, text, _)| text.len());
        let Some((level, text, operator)) = found.filter(|(level, ..)| *level >= least) else {
            return Ok(None);
        };
        if let Some(refused) = ["..", "**", "<<", ">>"].iter().find(|text| self.is_at(text)) {
            return Err(self.refuse(&format!("the operator `{refused}` is not supported")));
        }
        self.place += text.len();
        Ok(Some((level, operator)))
    }

    /// `a =~ s/b/c/`.
    fn binding(&mut self) -> Result<Node> {
        let start = self.place;
        let left = self.unary()?;
        self.blanks();
        let negated = self.is_at("!~");
        if !negated && !self.is_at("=~") {
            return Ok(left);
        }
        self.place += 2;
        self.blanks();
        let operation = self.unary()?;
        let target = target_of(left.clone());
        Ok(match (operation, target) {
            (Node::Match { pattern, .. }, _) => {
                Node::Match { of: Box::new(left), pattern, negated }
            }
            (Node::Substitute(mut substitute), Some(of)) if !negated => {
                substitute.of = of;
                Node::Substitute(substitute)
            }
            (Node::Translate { table, .. }, Some(of)) if !negated => {
                Node::Translate { of: Box::new(of), table }
            }
            _ => {
                self.place = start;
                return Err(self.refuse("`=~` needs a variable, and /.../, s/// or tr///"));
            }
        })
    }

    fn unary(&mut self) -> Result<Node> {
        self.blanks();
        for (text, down) in [("++", false), ("--", true)] {
            if self.take_text(text) {
                let start = self.place;
                let Some(target) = self.nested(Self::unary).map(target_of)? else {
                    self.place = start;
                    return Err(self.refuse("this cannot be incremented or decremented"));
                };
                return Ok(Node::Step { target: Box::new(target), down, before: true });
            }
        }
        if self.is_at("!") && !self.is_at("!~") {
            self.place += 1;
            return Ok(Node::Not(Box::new(self.nested(Self::unary)?)));
        }
        if self.take_text("-") {
            return Ok(Node::Negate(Box::new(self.nested(Self::unary)?)));
        }
        if self.take_text("+") {
            return self.nested(Self::unary);
        }
        let mut base = self.primary()?;
        for (text, down) in [("++", false), ("--", true)] {
            if self.take_text(text) {
                let Some(target) = target_of(base) else {
                    return Err(self.refuse("this cannot be incremented or decremented"));
                };
                base = Node::Step { target: Box::new(target), down, before: false };
                break;
            }
        }
        self.blanks();
        if self.is_at("**") && !self.is_at("**=") {
            self.place += 2;
            let power = self.nested(Self::unary)?;
            return Ok(Node::Binary(Binary::Power, Box::new(base), Box::new(power)));
        }
        Ok(base)
    }

    fn primary(&mut self) -> Result<Node> {
        self.blanks();
        match self.peek() {
            None => Err(self.refuse("something is missing")),
            Some(b'(') => {
                self.place += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(b'$') => text::variable(self),
            Some(b'@') if self.take_array("@") => Ok(Node::ArrayLength { last: false }),
            Some(b'<') if self.is_at("<<") => text::lines(self),
            Some(b'\'' | b'"' | b'/') => text::quoted(self),
            Some(b'0'..=b'9') => self.number(),
            Some(b'.') if self.code.get(self.place + 1).is_some_and(u8::is_ascii_digit) => {
                self.number()
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' || byte == b':' => self.word(),
            Some(_) => Err(self.refuse("this is not supported")),
        }
    }

    /// Takes the dialect's array, with this sign before it.
    fn take_array(&mut self, sign: &str) -> bool {
        let Some(name) = self.dialect.array else { return false };
        let is_here = self.rest().strip_prefix(sign.as_bytes()).is_some_and(|rest| {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let rest = rest.strip_prefix(name.as_bytes());
            rest.is_some_and(|rest| !rest.first().is_some_and(is_part))
        });
        self.place += if is_here { sign.len() + name.len() } else { 0 };
        is_here
    }

    fn number(&mut self) -> Result<Node> {
        let literal = Literal::at_beginning(self.rest());
        let value = literal.number().ok_or_else(|| self.refuse("this is not a number"))?;
        self.place += literal.length;
        Ok(Node::Number(value))
    }

    /// The word at the current position; empty if there is none.
    fn word_here(&self) -> &'a str {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let rest = self.rest();
        if !rest.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
            return "";
        }
        let length = rest.iter().take_while(is_part).count();
        std::str::from_utf8(&rest[..length]).unwrap_or("")
    }

    /// A function, a quote-like operator, or `my`.
    fn word(&mut self) -> Result<Node> {
        if let Some(node) = text::quoting_word(self)? {
            return Ok(node);
        }
        let start = self.place;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
        while self.peek().is_some_and(is_name) {
            self.place += 1;
        }
        let full = String::from_utf8_lossy(&self.code[start..self.place]).into_owned();
        let name = full.strip_prefix("::").or(full.strip_prefix("main::")).unwrap_or(&full);
        match name {
            "my" => return self.declared(true),
            "our" | "local" => return self.declared(false),
            "not" => return Ok(Node::Not(Box::new(self.assignment()?))),
            "undef" => return Ok(Node::Nothing),
            "return" | "die" if self.dialect.functions.contains(&name) => {
                let value = Box::new(self.optional()?);
                return Ok(if name == "die" { Node::Die(value) } else { Node::Return(value) });
            }
            _ => {}
        }
        let Some((function, least, most)) = Function::of_name(name, self.dialect) else {
            self.place = start;
            return Err(self.refuse(&format!("`{name}` is not supported")));
        };
        let arguments = self.arguments(least, most)?;
        if arguments.len() < least || arguments.len() > most {
            self.place = start;
            return Err(self.refuse(&format!("`{name}` takes {least} to {most} arguments")));
        }
        Ok(Node::Call(function, arguments))
    }

    /// What follows `my`: a variable, or `($x) = @_`, which takes the first element.
    fn declared(&mut self, is_own: bool) -> Result<Node> {
        let first = self.names.borrow().len();
        let node = self.declaration();
        self.declare(first);
        if let Some(name) = self.names.borrow_mut().get_mut(first) {
            name.is_own = is_own;
        }
        node
    }

    /// Takes the name at this place of the list for one of the program's own.
    fn declare(&self, place: usize) {
        if let Some(name) = self.names.borrow_mut().get_mut(place) {
            name.is_declared = true;
        }
    }

    /// Keeps the name of a variable for [`PerlProgram::undeclared`](crate::PerlProgram::undeclared).
    fn use_name(&self, name: &str, is_hash: bool) {
        let (name, line) = (name.to_owned(), self.line());
        self.names.borrow_mut().push(UsedName {
            name,
            line,
            is_hash,
            is_declared: false,
            is_own: false,
        });
    }

    fn declaration(&mut self) -> Result<Node> {
        if !self.take_text("(") {
            self.blanks();
            return match self.peek() {
                Some(b'$') => self.primary(),
                _ => Err(self.refuse("this is not supported")),
            };
        }
        let variable = self.primary()?;
        self.expect(")")?;
        let (target, is_assigned) = (target_of(variable.clone()), self.is_assigned());
        let (Some(target), true) = (target, is_assigned) else { return Ok(variable) };
        self.expect("=")?;
        let value = match self.assignment()? {
            Node::ArrayLength { last: false } => Node::Element(Box::new(Node::Number(0.into()))),
            value => value,
        };
        Ok(Node::Assign(None, Box::new(target), Box::new(value)))
    }

    fn is_assigned(&mut self) -> bool {
        matches!(self.assigning(), Some((_, None)))
    }

    /// The operand of `return` or `die`.
    fn optional(&mut self) -> Result<Node> {
        self.blanks();
        let is_end = matches!(self.peek(), None | Some(b';' | b'}' | b')'));
        match is_end || ["if", "unless", "or", "and"].contains(&self.word_here()) {
            true => Ok(Node::Nothing),
            false => self.assignment(),
        }
    }

    /// The arguments of a function: in parentheses; a single one without; or a list.
    fn arguments(&mut self, least: usize, most: usize) -> Result<Vec<Node>> {
        let mut arguments = Vec::new();
        self.blanks();
        if self.take_text("(") {
            if self.take_text(")") {
                return Ok(self.default_argument(least, most));
            }
            self.list(&mut arguments)?;
            self.expect(")")?;
            return Ok(arguments);
        }
        let begins = |byte: u8| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'$' | b'"' | b'\'' | b'@' | b'_' | b'-' | b'+' | b'!')
        };
        let is_operator = [
            "x", "eq", "ne", "lt", "le", "gt", "ge", "cmp", "if", "unless", "or", "and", "!=", "!~",
        ]
        .iter()
        .any(|text| self.is_at(text));
        if most == 0 || is_operator || !self.peek().is_some_and(begins) {
            return Ok(self.default_argument(least, most));
        }
        if most == 1 {
            arguments.push(self.nested(|parser| parser.level(NAMED_UNARY))?);
        } else {
            self.list(&mut arguments)?;
        }
        Ok(arguments)
    }

    fn default_argument(&self, least: usize, most: usize) -> Vec<Node> {
        match (least, most) {
            (0, 1) => vec![Node::Variable("_".to_owned())],
            _ => Vec::new(),
        }
    }

    fn list(&mut self, arguments: &mut Vec<Node>) -> Result<()> {
        loop {
            self.blanks();
            // In a list `@arg` stands for the elements, not for their number.
            arguments.push(match self.assignment()? {
                Node::ArrayLength { last: false } => Node::Elements,
                node => node,
            });
            if !self.take_text(",") {
                return Ok(());
            }
        }
    }
}

/// The assignable target of a node, if it is one.
fn target_of(node: Node) -> Option<Target> {
    match node {
        Node::Variable(name) => Some(Target::Variable(name)),
        Node::HashElement(name, key) => Some(Target::HashElement(name, *key)),
        Node::Call(Function::Substr, arguments) if arguments.len() < 4 => {
            let mut arguments = arguments.into_iter();
            let of = Box::new(target_of(arguments.next()?)?);
            Some(Target::Part { of, from: arguments.next()?, count: arguments.next() })
        }
        _ => None,
    }
}
