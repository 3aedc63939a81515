//! What may be wrong with a description, in RRDtool's words: programs compare these texts.

/// Most elements of a description.
pub(crate) const ELEMENTS_MAX: usize = 1 << 20;

/// What is wrong with a description, in RRDtool's words, with the line ends that some of them have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each says what it is")]
pub enum DescriptionError {
    #[error("too many positional arguments")]
    TooMany,
    #[error("Unused Arguments \"{fields}\" in command : {element}")]
    Unused { fields: String, element: String },
    #[error("no command set in argument {0}")]
    NoCommand(String),
    #[error("'{command}' is not a valid function name in {element}")]
    UnknownCommand { command: String, element: String },
    #[error("No argument for definition of {what} in {element}")]
    NoDefinition { what: &'static str, element: String },
    #[error("{0}")]
    Missing(&'static str),
    #[error("trying to reuse vname {0}")]
    Reused(String),
    #[error("{0} is not a vname nor a number")]
    NoValue(String),
    #[error("vname {0} not found")]
    NotFound(String),
    #[error("undefined vname {0}")]
    Undefined(String),
    #[error("{0}")]
    Rpn(#[from] rpn::ProgramError),
    #[error("Comma expected in VDEF definition {0}")]
    NoComma(String),
    #[error("Not a valid vname: {name} in line {line}")]
    BadName { name: String, line: String },
    #[error("variable '{name}' not DEF nor CDEF in VDEF '{line}'")]
    NoSeries { name: String, line: String },
    #[error("Unknown function string '{text}' in VDEF '{name}'")]
    UnknownFunctionString { text: String, name: String },
    #[error("Unknown function '{text}' in VDEF '{name}'\n")]
    UnknownFunction { text: String, name: String },
    #[error("Function '{text}' needs parameter in VDEF '{name}'\n")]
    NoParameter { text: String, name: String },
    #[error("Function '{text}' needs no parameter in VDEF '{name}'\n")]
    Parameter { text: String, name: String },
    #[error("Parameter '{parameter:.6}' out of range in VDEF '{name}'\n")]
    OutOfRange { parameter: f64, name: String },
    #[error("Bad {what}: {value}")]
    Bad { what: &'static str, value: String },
    #[error("bad CF: {0}")]
    Consolidation(String),
    #[error("bad CF for DEF/CDEF: {0}")]
    PrintConsolidation(String),
    #[error("bad reduce CF: {0}")]
    Reduce(String),
    #[error("{which} time: {error}")]
    Time { which: &'static str, error: time_words::TimeSpecError },
    #[error("{0}")]
    Range(#[from] time_words::ResolveError),
    #[error("the first entry to fetch should be after 1980 ({0})")]
    TooEarly(i64),
    #[error("start ({start_s}) should be less than end ({end_s})")]
    EndBeforeStart { start_s: i64, end_s: i64 },
    #[error("error parsing number {0}")]
    Number(String),
    #[error("Could not parse number: {0}")]
    Dash(String),
    #[error("expected a ',' at : {0}")]
    DashComma(String),
    #[error("unexpected end at : {0}")]
    DashEnd(String),
    #[error("Could not parse dash-offset: {0}")]
    DashOffset(String),
    #[error("Unsupported vformatter: {0}")]
    Formatter(String),
    #[error("variable '{0}' not DEF nor CDEF when using dynamic fractions")]
    Fraction(String),
    #[error("Using vname {name} of wrong type in line {line}\n")]
    WrongType { name: String, line: String },
    #[error("Cannot shift a VDEF: '{name}' in line '{line}'\n")]
    ShiftOfVdef { name: String, line: String },
    #[error("Offset cannot be a (C)DEF: '{name}' in line '{line}'\n")]
    ShiftBySeries { name: String, line: String },
    #[error("Encountered unknown type variable '' in line '{0}'")]
    NotASeries(String),
    #[error("Unknown alignment type '{0}'")]
    Alignment(String),
    #[error("No previous LINE or AREA found for {0}")]
    NothingToStackOn(String),
    /// More than 2^20 elements.
    #[error("more than {ELEMENTS_MAX} elements")]
    TooLong,
    /// Not an error of RRDtool, which leaves out the elements after it.
    #[error("the color format is #RRGGBB[AA], not '#{text}' in {element}")]
    Color { text: String, element: String },
}
