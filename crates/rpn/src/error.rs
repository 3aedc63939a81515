//! What may be wrong with an expression, in RRDtool's words: programs compare these texts.

/// An expression that cannot be parsed or stored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProgramError {
    /// The text is empty.
    #[error("can not parse an empty rpn expression")]
    Empty,
    /// A word that is no number, operator or variable; the text from there on.
    #[error("don't understand '{0}'")]
    Unknown(String),
    /// Text after the closing bracket of `PREV(name)`, or no bracket.
    #[error("garbage in RPN: '{0}'")]
    Garbage(String),
    /// `PREV(name)` of a variable that does not exist.
    #[error("variable '{0}' not found")]
    NoVariable(String),
    /// More nodes than [`crate::NODES_MAX`].
    #[error("Maximum {max} RPN nodes permitted. Got {count} RPN nodes at present.")]
    TooLong {
        /// Most nodes.
        max: usize,
        /// Nodes of this program.
        count: usize,
    },
    /// A data source of type COMPUTE whose expression cannot be parsed.
    #[error("failed to parse computed data source")]
    Compute,
    /// An operator of series in a data source of type COMPUTE.
    #[error(
        "operators TIME LTIME STEPWIDTH PREV NEW* COUNT TREND TRENDNAN PREDICT PREDICTSIGMA \
         PREDICTPERC are not supported with DS COMPUTE"
    )]
    NotForCompute,
    /// A number that has no place in the file.
    #[error("constants must be integers in the interval (-32768, 32767)")]
    NotAnInteger,
    /// A number in a file is no operator.
    #[error("RPN node {position} has the unknown operator {operator}")]
    BadOperator {
        /// Which node, from 0.
        position: usize,
        /// What stands there.
        operator: u8,
    },
    /// A program in a file does not end within its space.
    #[error("RPN program without end")]
    NoEnd,
    /// A variable in a file has a negative index.
    #[error("RPN node {position} names data source {index}")]
    BadVariable {
        /// Which node, from 0.
        position: usize,
        /// What stands there.
        index: i16,
    },
}

/// An expression that has no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvaluateError {
    /// An operator found fewer values than it takes.
    #[error("RPN stack underflow")]
    Underflow,
    /// The stack did not end with one value.
    #[error("RPN final stack size != 1")]
    FinalSize,
    /// PERCENT of less than 0 or more than 100.
    #[error("percentile argument must be between 0 and 100")]
    Percent,
    /// PREDICTPERC of less than -100 or more than 100.
    #[error("unsupported percentile: {0:.6}")]
    Percentile(f64),
    /// A negative shift of PREDICT, in seconds.
    #[error("negative shift step not allowed: {0}")]
    NegativeShift(i32),
    /// TREND after something else than a variable and a number.
    #[error("malformed trend arguments")]
    Trend,
    /// A negative number of values to roll.
    #[error("RPN out of memory (allocating {0} objects)")]
    Roll(i32),
    /// A negative number of values; RRDtool crashes.
    #[error("RPN operator {name} with a negative count: {count}")]
    NegativeCount {
        /// The operator.
        name: &'static str,
        /// The count that was given.
        count: i32,
    },
    /// More values than an evaluation may have (2^20).
    #[error("RPN stack overflow")]
    Overflow,
    /// `PREV(name)` where there is no series.
    #[error("VDEF made it into rpn_calc... aborting")]
    PreviousOf,
    /// An operator of series where there is none.
    #[error("RPN operator {0} needs a series")]
    NoSeries(&'static str),
    /// A variable that does not exist.
    #[error("RPN variable {0} does not exist")]
    NoVariable(usize),
}
