//! The syntax tree of an expression, and the tables of its operators.

use regex::bytes::Regex;

/// A part of an expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Nothing: an empty block.
    Nothing,
    /// A fixed text.
    Text(Vec<u8>),
    /// A fixed whole number.
    Integer(i64),
    /// A fixed number with a fraction.
    Float(f64),
    /// A text made of parts.
    Joined(Vec<Node>),
    /// `$name`; `$_` is the value.
    Variable(String),
    /// `$1`: a group of the last match.
    Group(usize),
    /// `$arg[2]`.
    Argument(Box<Node>),
    /// `@arg` as a number, and `$#arg`, which is one less.
    ArgumentCount { last: bool },
    /// `@arg` in a text or a list: all values, separated by blanks.
    Arguments,
    /// `seq()` and its synonyms.
    Seq,
    /// The slot.
    Slot,
    /// The number of all jobs.
    Total,
    /// How many jobs may run at the same time.
    Slots,
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
    /// `a ? b : c`, and `if`.
    If(Box<Node>, Box<Node>, Box<Node>),
    /// Statements.
    Block(Vec<Node>),
    /// `/re/`.
    Match { of: Box<Node>, pattern: Pattern, negated: bool },
    /// `s/re/text/`.
    Substitute(Box<Substitute>),
    /// `tr/a-z/A-Z/`.
    Translate { of: Box<Target>, table: Box<Table> },
    /// A function of values.
    Call(Function, Vec<Node>),
}

/// The target of an assignment.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// `$name`.
    Variable(String),
    /// `substr($name, from, count)`.
    Part { of: Box<Target>, from: Node, count: Option<Node> },
}

/// `s///`.
#[derive(Clone, Debug)]
pub(super) struct Substitute {
    pub(super) of: Target,
    pub(super) pattern: Pattern,
    pub(super) to: Node,
    pub(super) every: bool,
    /// The changed text is the result (`r`), and the variable is not changed.
    pub(super) is_result: bool,
}

/// A regular expression.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// Compiled when it was parsed.
    Fixed(Regex),
    /// Contains variables: compiled when it is evaluated.
    Variable { parts: Vec<Node>, flags: String },
}

/// `tr///`: what happens to each byte.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The replacement; the byte itself if it is only counted.
    pub(super) to: [Change; 256],
    pub(super) squeeze: bool,
    pub(super) is_result: bool,
}

/// What happens to a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is not in the set.
    None,
    /// It is counted and deleted.
    Delete,
    /// It is counted and replaced.
    To(u8),
}

/// Operators that evaluate both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
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
pub(super) enum Logic {
    And,
    Or,
    DefinedOr,
}

/// Functions of Perl, and functions that depend on the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Skip,
    Unquoted,
    Quote,
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
    /// The date and time in this format.
    Time(&'static str),
}

impl Function {
    /// The function of this name, and its least and most arguments.  If these are 0 and 1, the
    /// default argument is the value.
    pub(super) fn of_name(name: &str) -> Option<(Self, usize, usize)> {
        use Function as F;
        Some(match name {
            "skip" => (F::Skip, 0, 0),
            "uq" => (F::Unquoted, 0, 0),
            "Q" | "shell_quote" | "shell_quote_scalar" => (F::Quote, 1, 1),
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
            "yyyy_mm_dd_hh_mm_ss" => (F::Time("Y-m-dTH:M:S"), 0, 0),
            "yyyy_mm_dd_hh_mm" => (F::Time("Y-m-dTH:M"), 0, 0),
            "yyyy_mm_dd" => (F::Time("Y-m-d"), 0, 0),
            "hh_mm_ss" => (F::Time("H:M:S"), 0, 0),
            "hh_mm" => (F::Time("H:M"), 0, 0),
            "yyyymmddhhmmss" => (F::Time("YmdHMS"), 0, 0),
            "yyyymmddhhmm" => (F::Time("YmdHM"), 0, 0),
            "yyyymmdd" => (F::Time("Ymd"), 0, 0),
            "hhmmss" => (F::Time("HMS"), 0, 0),
            "hhmm" => (F::Time("HM"), 0, 0),
            _ => return None,
        })
    }
}

/// Most arguments of a function: more than any format needs.
const ARGUMENTS_MAX: usize = 64;

/// Binary operators by precedence, lowest first; within a row longer ones first.
pub(super) const LEVELS: &[&[(&str, Operator)]] = &[
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

/// An operator of [`LEVELS`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Operator {
    Binary(Binary),
    Logic(Logic),
}

/// Assignment operators, longest first.
pub(super) const ASSIGNING: &[(&str, Option<Operator>)] = &[
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
