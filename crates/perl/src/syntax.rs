//! The syntax tree of a program, what a dialect offers, and the tables of its operators.

use regex::bytes::Regex;

use super::number::Number;

/// A part of a program.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// `undef`, and an empty block.
    Nothing,
    /// A fixed text.
    Text(Vec<u8>),
    /// A fixed number.
    Number(Number),
    /// A text made of parts.
    Joined(Vec<Node>),
    /// `$name`; `$_` is the value.
    Variable(String),
    /// `$1`: a group of the last match.
    Group(usize),
    /// `$arg[2]`.
    Element(Box<Node>),
    /// `@arg` as a number, and `$#arg`, which is one less.
    ArrayLength { last: bool },
    /// `@arg` in a text or a list: all elements, separated by blanks.
    Elements,
    /// `$name{key}`, `$$name{key}`, `$name->{key}`.
    HashElement(String, Box<Node>),
    /// `a = b`, `a += b`.
    Assign(Option<Binary>, Box<Target>, Box<Node>),
    /// `a ||= b` and its like.
    AssignIf(Logic, Box<Target>, Box<Node>),
    /// `++a`, `a++`, `--a`, `a--`.
    Step { target: Box<Target>, down: bool, before: bool },
    /// A binary operator.
    Binary(Binary, Box<Node>, Box<Node>),
    /// A binary operator that may skip its right side.
    Logic(Logic, Box<Node>, Box<Node>),
    /// `!a`.
    Not(Box<Node>),
    /// `-a`.
    Negate(Box<Node>),
    /// `a ? b : c`, and `if`; without the last part the condition is the value.
    If(Box<Node>, Box<Node>, Option<Box<Node>>),
    /// Statements, each with its line.
    Block(Vec<(usize, Node)>),
    /// `return a`.
    Return(Box<Node>),
    /// `die a`.
    Die(Box<Node>),
    /// `/re/`.
    Match { of: Box<Node>, pattern: Pattern, negated: bool },
    /// `s/re/text/`.
    Substitute(Box<Substitute>),
    /// `tr/a-z/A-Z/`.
    Translate { of: Box<Target>, table: Box<Table> },
    /// A function of values.
    Call(Function, Vec<Node>),
}

/// A variable where the text of a program has it.
#[derive(Clone, Debug)]
pub(crate) struct UsedName {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) is_hash: bool,
    /// It stands after `my`, or before `=`.
    pub(crate) is_declared: bool,
    /// It stands after `my`.
    pub(crate) is_own: bool,
}

/// The target of an assignment.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// `$name`.
    Variable(String),
    /// `$name{key}`.
    HashElement(String, Node),
    /// `substr($name, from, count)`.
    Part { of: Box<Target>, from: Node, count: Option<Node> },
}

/// `s///`.
#[derive(Clone, Debug)]
pub(crate) struct Substitute {
    pub(crate) of: Target,
    pub(crate) pattern: Pattern,
    pub(crate) to: Node,
    pub(crate) every: bool,
    /// The changed text is the result (`r`), and the variable is not changed.
    pub(crate) is_result: bool,
}

/// A regular expression.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// Compiled when it was parsed.
    Fixed(Regex),
    /// Contains variables: compiled when it is evaluated.
    Variable { parts: Vec<Node>, flags: String },
}

/// `tr///`: what happens to each byte.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// The replacement; the byte itself if it is only counted.
    pub(crate) to: [Change; 256],
    pub(crate) squeeze: bool,
    pub(crate) is_result: bool,
}

/// What happens to a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The byte is not in the set.
    None,
    /// The byte is counted and deleted.
    Delete,
    /// The byte is counted and replaced.
    To(u8),
}

/// Operators that evaluate both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    Concatenate,
    Repeat,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Order,
    TextEqual,
    TextNotEqual,
    TextLess,
    TextLessEqual,
    TextGreater,
    TextGreaterEqual,
    TextOrder,
}

/// Operators that evaluate their right side only if needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    DefinedOr,
}

/// What a program may use besides operators, conditions, scalars and patterns.
#[derive(Debug)]
pub struct Dialect {
    /// Functions of Perl by name; `return` and `die` are among them.
    pub functions: &'static [&'static str],
    /// Functions that Perl does not have.
    pub own: &'static [OwnFunction],
    /// What may follow a `$` and stands for a call of an own function: `job->seq()`, `seq`.
    pub spellings: &'static [(&'static str, &'static str)],
    /// The array that can be read.
    pub array: Option<&'static str>,
    /// Whether there are hashes.
    pub has_hashes: bool,
}

/// A function that the environment offers: its name, and its least and most arguments.  If these are
/// 0 and 1, the default argument is `$_`.
pub type OwnFunction = (&'static str, usize, usize);

/// Functions of Perl, and of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Length,
    Substr,
    Index,
    RightIndex,
    Upper,
    Lower,
    UpperFirst,
    LowerFirst,
    Sprintf,
    Join,
    Int,
    Abs,
    Sqrt,
    Log,
    Exp,
    Hex,
    Oct,
    Ord,
    Chr,
    Reverse,
    Defined,
    /// A function of the environment.
    Own(&'static str),
}

impl Function {
    /// The function of this name, and its least and most arguments, if the dialect has it.
    pub(crate) fn of_name(name: &str, dialect: &Dialect) -> Option<(Self, usize, usize)> {
        use Function as F;
        if let Some(&(name, least, most)) = dialect.own.iter().find(|(own, ..)| *own == name) {
            return Some((F::Own(name), least, most));
        }
        if !dialect.functions.contains(&name) {
            return None;
        }
        Some(match name {
            "length" => (F::Length, 0, 1),
            "substr" => (F::Substr, 2, 3),
            "index" => (F::Index, 2, 3),
            "rindex" => (F::RightIndex, 2, 3),
            "uc" => (F::Upper, 0, 1),
            "lc" => (F::Lower, 0, 1),
            "ucfirst" => (F::UpperFirst, 0, 1),
            "lcfirst" => (F::LowerFirst, 0, 1),
            "sprintf" => (F::Sprintf, 1, ARGUMENTS_MAX),
            "join" => (F::Join, 1, ARGUMENTS_MAX),
            "int" => (F::Int, 0, 1),
            "abs" => (F::Abs, 0, 1),
            "sqrt" => (F::Sqrt, 0, 1),
            "log" => (F::Log, 0, 1),
            "exp" => (F::Exp, 0, 1),
            "hex" => (F::Hex, 0, 1),
            "oct" => (F::Oct, 0, 1),
            "ord" => (F::Ord, 0, 1),
            "chr" => (F::Chr, 0, 1),
            "reverse" => (F::Reverse, 0, 1),
            "defined" => (F::Defined, 0, 1),
            _ => return None,
        })
    }
}

/// Most arguments of a function: more than any format needs.
const ARGUMENTS_MAX: usize = 64;

/// Binary operators by precedence, lowest first; within a row longer ones first.
pub(crate) const LEVELS: &[&[(&str, Operator)]] = &[
    &[("||", Operator::Logic(Logic::Or)), ("//", Operator::Logic(Logic::DefinedOr))],
    &[("&&", Operator::Logic(Logic::And))],
    &[
        ("<=>", Operator::Binary(Binary::Order)),
        ("==", Operator::Binary(Binary::Equal)),
        ("!=", Operator::Binary(Binary::NotEqual)),
        ("eq", Operator::Binary(Binary::TextEqual)),
        ("ne", Operator::Binary(Binary::TextNotEqual)),
        ("cmp", Operator::Binary(Binary::TextOrder)),
    ],
    &[
        ("<=", Operator::Binary(Binary::LessEqual)),
        (">=", Operator::Binary(Binary::GreaterEqual)),
        ("<", Operator::Binary(Binary::Less)),
        (">", Operator::Binary(Binary::Greater)),
        ("lt", Operator::Binary(Binary::TextLess)),
        ("le", Operator::Binary(Binary::TextLessEqual)),
        ("gt", Operator::Binary(Binary::TextGreater)),
        ("ge", Operator::Binary(Binary::TextGreaterEqual)),
    ],
    &[
        ("+", Operator::Binary(Binary::Add)),
        ("-", Operator::Binary(Binary::Subtract)),
        (".", Operator::Binary(Binary::Concatenate)),
    ],
    &[
        ("*", Operator::Binary(Binary::Multiply)),
        ("/", Operator::Binary(Binary::Divide)),
        ("%", Operator::Binary(Binary::Remainder)),
        ("x", Operator::Binary(Binary::Repeat)),
    ],
];

/// The level of what follows a function of one argument without parentheses: between comparisons
/// and `+`.
pub(crate) const NAMED_UNARY: usize = 4;

/// An operator of [`LEVELS`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operator {
    Binary(Binary),
    Logic(Logic),
}

/// Assignment operators, longest first.
pub(crate) const ASSIGNING: &[(&str, Option<Operator>)] = &[
    ("**=", Some(Operator::Binary(Binary::Power))),
    ("||=", Some(Operator::Logic(Logic::Or))),
    ("&&=", Some(Operator::Logic(Logic::And))),
    ("//=", Some(Operator::Logic(Logic::DefinedOr))),
    ("+=", Some(Operator::Binary(Binary::Add))),
    ("-=", Some(Operator::Binary(Binary::Subtract))),
    (".=", Some(Operator::Binary(Binary::Concatenate))),
    ("*=", Some(Operator::Binary(Binary::Multiply))),
    ("/=", Some(Operator::Binary(Binary::Divide))),
    ("%=", Some(Operator::Binary(Binary::Remainder))),
    ("x=", Some(Operator::Binary(Binary::Repeat))),
    ("=", None),
];
