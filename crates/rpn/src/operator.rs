//! The operators: their names, and their numbers in a file.

use std::fmt;

macro_rules! operators {
    ($($operator:ident $name:literal $number:literal)*) => {
        /// An operator.  Its discriminant is its number in a file.
        #[allow(missing_docs, reason = "each is described by its name in rrdgraph_rpn(1)")]
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[repr(u8)]
        pub enum Operator { $($operator = $number),* }

        impl Operator {
            /// All operators.
            pub const ALL: &'static [Operator] = &[$(Operator::$operator),*];

            /// As it is written in an expression.
            pub fn name(self) -> &'static str {
                match self { $(Operator::$operator => $name),* }
            }
        }
    };
}

/// Numbers in a file that are no operator: a constant, a variable, the end, `PREV(name)`.
pub(crate) const NUMBER: u8 = 0;
pub(crate) const VARIABLE: u8 = 1;
pub(crate) const END: u8 = 32;
pub(crate) const PREVIOUS_OF: u8 = 36;

operators! {
    Infinity "INF" 2
    Previous "PREV" 3
    NegativeInfinity "NEGINF" 4
    Unknown "UNKN" 5
    Now "NOW" 6
    Time "TIME" 7
    Add "+" 8
    Modulo "%" 9
    Subtract "-" 10
    Multiply "*" 11
    Divide "/" 12
    Sine "SIN" 13
    Duplicate "DUP" 14
    Exchange "EXC" 15
    Pop "POP" 16
    Cosine "COS" 17
    Logarithm "LOG" 18
    Exponential "EXP" 19
    Less "LT" 20
    LessOrEqual "LE" 21
    Greater "GT" 22
    GreaterOrEqual "GE" 23
    Equal "EQ" 24
    If "IF" 25
    Minimum "MIN" 26
    Maximum "MAX" 27
    Limit "LIMIT" 28
    Floor "FLOOR" 29
    Ceiling "CEIL" 30
    IsUnknown "UN" 31
    LocalTime "LTIME" 33
    NotEqual "NE" 34
    IsInfinite "ISINF" 35
    Count "COUNT" 37
    ArcTangent "ATAN" 38
    SquareRoot "SQRT" 39
    Sort "SORT" 40
    Reverse "REV" 41
    Trend "TREND" 42
    TrendNan "TRENDNAN" 43
    ArcTangent2 "ATAN2" 44
    RadiansToDegrees "RAD2DEG" 45
    DegreesToRadians "DEG2RAD" 46
    Predict "PREDICT" 47
    PredictSigma "PREDICTSIGMA" 48
    Average "AVG" 49
    Absolute "ABS" 50
    AddNan "ADDNAN" 51
    MinimumNan "MINNAN" 52
    MaximumNan "MAXNAN" 53
    Median "MEDIAN" 54
    PredictPercentile "PREDICTPERC" 55
    Depth "DEPTH" 56
    Copy "COPY" 57
    Roll "ROLL" 58
    Index "INDEX" 59
    StepWidth "STEPWIDTH" 60
    NewDay "NEWDAY" 61
    NewWeek "NEWWEEK" 62
    NewMonth "NEWMONTH" 63
    NewYear "NEWYEAR" 64
    SetMinimum "SMIN" 65
    SetMaximum "SMAX" 66
    StandardDeviation "STDEV" 67
    Percent "PERCENT" 68
    Power "POW" 69
    Round "ROUND" 70
}

impl Operator {
    /// The operator of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operator| operator.name() == name)
    }

    /// The operator of a number in a file.
    pub fn by_number(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|operator| *operator as u8 == number)
    }

    /// Whether the operator needs a series, or the time of a value in one, and so has no place in a
    /// data source of type COMPUTE.
    pub fn needs_series(self) -> bool {
        use Operator as O;
        let of_time = matches!(self, O::Time | O::LocalTime | O::StepWidth);
        let of_calendar = matches!(self, O::NewDay | O::NewWeek | O::NewMonth | O::NewYear);
        let of_trend = matches!(self, O::Trend | O::TrendNan);
        let of_prediction = matches!(self, O::Predict | O::PredictSigma | O::PredictPercentile);
        let of_position = matches!(self, O::Previous | O::Count);
        of_time || of_calendar || of_trend || of_prediction || of_position
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
