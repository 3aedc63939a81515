//! What requests and answers have in common, as types.

/// `KeyValue`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValue {
    /// The name of the attribute.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value of the attribute.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// `AnyValue`: one of these.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AnyValue {
    #[prost(string, optional, tag = "1")]
    string_value: Option<String>,
    #[prost(bool, optional, tag = "2")]
    bool_value: Option<bool>,
    #[prost(int64, optional, tag = "3")]
    int_value: Option<i64>,
    #[prost(double, optional, tag = "4")]
    double_value: Option<f64>,
    #[prost(bytes = "vec", optional, tag = "7")]
    bytes_value: Option<Vec<u8>>,
}

impl AnyValue {
    /// A text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        AnyValue { string_value: Some(text.to_owned()), ..AnyValue::default() }
    }

    /// True or false.
    #[must_use]
    pub fn truth(is: bool) -> Self {
        AnyValue { bool_value: Some(is), ..AnyValue::default() }
    }

    /// A whole number.
    #[must_use]
    pub fn integer(number: i64) -> Self {
        AnyValue { int_value: Some(number), ..AnyValue::default() }
    }

    /// A number.
    #[must_use]
    pub fn float(number: f64) -> Self {
        AnyValue { double_value: Some(number), ..AnyValue::default() }
    }

    /// Bytes.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        AnyValue { bytes_value: Some(bytes.to_vec()), ..AnyValue::default() }
    }
}

/// `InstrumentationScope`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OtlpScope {
    /// The name of the instrumentation scope.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The version of the instrumentation scope.
    #[prost(string, tag = "2")]
    pub version: String,
}

/// `ExportMetricsServiceResponse`, or that of logs.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Response {
    /// What was not taken, if something was not.
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<PartialSuccess>,
}

/// `ExportMetricsPartialSuccess`, or that of logs.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PartialSuccess {
    /// Points, or records, that were not taken and are not to be sent again.
    #[prost(int64, tag = "1")]
    pub rejected: i64,
    /// Why.
    #[prost(string, tag = "2")]
    pub error_message: String,
}

/// `google.rpc.Status`, the body of an error.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RpcStatus {
    /// `google.rpc.Code`.
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// What is wrong.
    #[prost(string, tag = "2")]
    pub message: String,
}
