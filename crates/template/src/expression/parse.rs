//! Parses the text of an expression to a tree.
//!
//! A recursive-descent parser with one position in the text; the meaning of a `/` or an `s` follows
//! from its context.  Unsupported features are rejected by name.

mod text;

use super::syntax::{ASSIGNING, Function, LEVELS, Logic, Node, Operator, Target};
use crate::TemplateError;

/// Most nested levels of an expression: people write a handful, and each uses some of the stack.
const DEPTH_MAX: usize = 48;

type Result<T> = std::result::Result<T, TemplateError>;

/// Parses all statements.
pub(super) fn program(code: &[u8], groups: &[Vec<u8>]) -> Result<Node> {
    let mut parser = Parser { code, place: 0, groups, depth: 0 };
    let block = parser.statements(false)?;
    if parser.place < code.len() {
        return Err(parser.refuse("it cannot be parsed from here on"));
    }
    Ok(block)
}

pub(super) struct Parser<'a> {
    pub(super) code: &'a [u8],
    pub(super) place: usize,
    /// The values of `$$1`, `$$2` ....
    pub(super) groups: &'a [Vec<u8>],
    pub(super) depth: usize,
}

impl Parser<'_> {
    /// An error about the current position.
    pub(super) fn refuse(&self, why: &str) -> TemplateError {
        let rest = self.code.get(self.place..).unwrap_or(b"");
        let shown = &rest[..rest.len().min(30)];
        let all = String::from_utf8_lossy(self.code);
        let near = match shown {
            b"" => "its end".to_owned(),
            shown => format!("\"{}\"", String::from_utf8_lossy(shown).trim_end()),
        };
        TemplateError::Expression(format!("{why}: near {near} in the expression {{={all}=}}"))
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.code.get(self.place).copied()
    }

    pub(super) fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.place += 1;
        }
    }

    fn is_at(&self, text: &str) -> bool {
        let Some(rest) = self.code[self.place..].strip_prefix(text.as_bytes()) else {
            return false;
        };
        // A word ends before a character that is no letter, digit or underscore.
        let is_word = text.as_bytes()[0].is_ascii_alphabetic();
        !is_word || !rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    }

    /// Takes the text if it comes next, after blanks.
    pub(super) fn take(&mut self, text: &str) -> bool {
        self.blanks();
        let is_here = self.is_at(text);
        self.place += if is_here { text.len() } else { 0 };
        is_here
    }

    fn expect(&mut self, text: &str) -> Result<()> {
        if self.take(text) { Ok(()) } else { Err(self.refuse(&format!("`{text}` is missing"))) }
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

    fn statements(&mut self, in_block: bool) -> Result<Node> {
        let mut statements = Vec::new();
        loop {
            while self.take(";") {}
            self.blanks();
            if self.peek().is_none() || (in_block && self.peek() == Some(b'}')) {
                break;
            }
            statements.push(self.statement()?);
            self.blanks();
            let after_block = self.code[..self.place].trim_ascii_end().ends_with(b"}");
            if !matches!(self.peek(), None | Some(b';' | b'}')) && !after_block {
                return Err(self.refuse("an operator or `;` is missing"));
            }
        }
        Ok(match statements.len() {
            0 => Node::Nothing,
            1 => statements.remove(0),
            _ => Node::Block(statements),
        })
    }

    fn statement(&mut self) -> Result<Node> {
        for word in ["for", "foreach", "while", "until", "do", "map", "grep", "return", "sub"] {
            if self.is_at(word) {
                return Err(self.refuse(&format!("`{word}` is not supported")));
            }
        }
        if self.take("if") {
            return self.nested(|parser| parser.condition(false));
        }
        if self.take("unless") {
            return self.nested(|parser| parser.condition(true));
        }
        let node = self.expression()?;
        let (is_if, is_unless) = (self.take("if"), self.take("unless"));
        if !is_if && !is_unless {
            return Ok(node);
        }
        let mut condition = self.expression()?;
        if is_unless {
            condition = Node::Not(Box::new(condition));
        }
        Ok(Node::If(Box::new(condition), Box::new(node), Box::new(Node::Nothing)))
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
        let otherwise = if self.take("elsif") {
            self.nested(|parser| parser.condition(false))?
        } else if self.take("else") {
            self.block()?
        } else {
            Node::Nothing
        };
        Ok(Node::If(Box::new(condition), Box::new(then), Box::new(otherwise)))
    }

    fn block(&mut self) -> Result<Node> {
        self.expect("{")?;
        let block = self.nested(|parser| parser.statements(true))?;
        self.expect("}")?;
        Ok(block)
    }

    /// With `or`, `and` and `not`, which have the lowest precedence.
    pub(super) fn expression(&mut self) -> Result<Node> {
        self.nested(|parser| {
            let mut left = parser.conjunction()?;
            while parser.take("or") {
                let right = parser.conjunction()?;
                left = Node::Logic(Logic::Or, Box::new(left), Box::new(right));
            }
            Ok(left)
        })
    }

    fn conjunction(&mut self) -> Result<Node> {
        let mut left = self.negation()?;
        while self.take("and") {
            let right = self.negation()?;
            left = Node::Logic(Logic::And, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Node> {
        if self.take("not") {
            let inner = self.nested(Self::negation)?;
            return Ok(Node::Not(Box::new(inner)));
        }
        self.assignment()
    }

    pub(super) fn assignment(&mut self) -> Result<Node> {
        self.nested(|parser| {
            let start = parser.place;
            let left = parser.choice()?;
            let Some((text, operator)) = parser.assigning() else { return Ok(left) };
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
        let rest = &self.code[self.place..];
        if rest.starts_with(b"==") || rest.starts_with(b"=~") {
            return None;
        }
        ASSIGNING.iter().find(|(text, _)| rest.starts_with(text.as_bytes())).copied()
    }

    fn choice(&mut self) -> Result<Node> {
        let condition = self.level(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let then = self.assignment()?;
        self.expect(":")?;
        let otherwise = self.assignment()?;
        Ok(Node::If(Box::new(condition), Box::new(then), Box::new(otherwise)))
    }

    pub(super) fn level(&mut self, level: usize) -> Result<Node> {
        let Some(operators) = LEVELS.get(level) else { return self.binding() };
        let mut left = self.level(level + 1)?;
        loop {
            self.blanks();
            if self.assigning().is_some() {
                return Ok(left);
            }
            // `**` is the power operator, and `..` is not supported.
            let is_order = self.is_at("<=>");
            let fits = |text: &str| self.is_at(text) && (!is_order || text == "<=>");
            let Some((text, operator)) = operators.iter().find(|(text, _)| fits(text)) else {
                return Ok(left);
            };
            if self.is_at("..") || self.is_at("**") || self.is_at("<<") || self.is_at(">>") {
                return Err(self.refuse("this operator is not supported"));
            }
            self.place += text.len();
            let right = Box::new(self.level(level + 1)?);
            left = match operator {
                Operator::Binary(operator) => Node::Binary(*operator, Box::new(left), right),
                Operator::Logic(logic) => Node::Logic(*logic, Box::new(left), right),
            };
        }
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
            if self.take(text) {
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
        if self.take("-") {
            return Ok(Node::Negate(Box::new(self.nested(Self::unary)?)));
        }
        if self.take("+") {
            return self.nested(Self::unary);
        }
        let mut base = self.primary()?;
        for (text, down) in [("++", false), ("--", true)] {
            if self.take(text) {
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
            return Ok(Node::Binary(super::syntax::Binary::Power, Box::new(base), Box::new(power)));
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
            Some(b'@') if self.code[self.place..].starts_with(b"@arg") => {
                self.place += 4;
                Ok(Node::ArgumentCount { last: false })
            }
            Some(b'\'' | b'"' | b'/') => text::quoted(self),
            Some(b'0'..=b'9') => Ok(self.number()),
            Some(b'.') if self.code.get(self.place + 1).is_some_and(u8::is_ascii_digit) => {
                Ok(self.number())
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' || byte == b':' => self.word(),
            Some(_) => Err(self.refuse("this is not supported")),
        }
    }

    fn number(&mut self) -> Node {
        let rest = &self.code[self.place..];
        if rest.starts_with(b"0x") || rest.starts_with(b"0X") {
            let digits = rest[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            self.place += 2 + digits;
            let text = String::from_utf8_lossy(&rest[2..2 + digits]);
            return Node::Integer(i64::from_str_radix(&text, 16).unwrap_or(0));
        }
        let (length, value) = super::number::prefix(rest);
        self.place += length;
        match value {
            super::number::Number::Integer(value) => Node::Integer(value),
            super::number::Number::Float(value) => Node::Float(value),
        }
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
        if name == "my" || name == "our" || name == "local" {
            return self.primary();
        }
        if name == "not" {
            return Ok(Node::Not(Box::new(self.assignment()?)));
        }
        let own = match name {
            "seq" => Some(Node::Seq),
            "slot" => Some(Node::Slot),
            "total_jobs" => Some(Node::Total),
            _ => None,
        };
        if let Some(node) = own {
            if self.take("(") {
                self.expect(")")?;
            }
            return Ok(node);
        }
        let Some((function, least, most)) = Function::of_name(name) else {
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

    /// The arguments of a function: in parentheses; a single one without; or a list.
    fn arguments(&mut self, least: usize, most: usize) -> Result<Vec<Node>> {
        let mut arguments = Vec::new();
        self.blanks();
        if self.take("(") {
            if self.take(")") {
                return Ok(self.default_argument(least, most));
            }
            self.list(&mut arguments)?;
            self.expect(")")?;
            return Ok(arguments);
        }
        let begins = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'$' | b'"' | b'\'' | b'@' | b'_')
        };
        let is_operator =
            ["x", "eq", "ne", "lt", "le", "gt", "ge", "cmp", "if", "unless", "or", "and"]
                .iter()
                .any(|word| self.is_at(word));
        if most == 0 || is_operator || !self.peek().is_some_and(begins) {
            return Ok(self.default_argument(least, most));
        }
        if most == 1 {
            // Precedence between comparison and `+`.
            arguments.push(self.nested(|parser| parser.level(4))?);
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
            // In a list `@arg` stands for the values, not for their number.
            let node = self.assignment()?;
            arguments.push(match node {
                Node::ArgumentCount { last: false } => Node::Arguments,
                node => node,
            });
            if !self.take(",") {
                return Ok(());
            }
        }
    }
}

/// The assignable target of a node, if it is one.
pub(super) fn target_of(node: Node) -> Option<Target> {
    match node {
        Node::Variable(name) => Some(Target::Variable(name)),
        Node::Call(Function::Substr, arguments) if arguments.len() < 4 => {
            let mut arguments = arguments.into_iter();
            let of = Box::new(target_of(arguments.next()?)?);
            Some(Target::Part { of, from: arguments.next()?, count: arguments.next() })
        }
        _ => None,
    }
}
