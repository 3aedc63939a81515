//! Targets: what each is called, what it asks, and how it is shown.

mod expression;
pub(crate) mod grammar;
mod objects;
mod perl;
mod scanner;

pub use expression::{Arithmetic, BinaryOperator, Function, NoValue};
pub use objects::ObjectNames;
pub use scanner::ExpressionError;

use std::borrow::Cow;
use std::sync::Arc;

use crate::device::SnmpOptions;
use crate::options::{CloneFolder, LegendColour, Periods, RowCounts, StampPosition, TargetOptions};
use crate::thresholds::ThresholdRules;

/// One target with all its settings.
#[derive(Clone, Debug)]
pub struct PollTarget {
    /// The name, in lower case, as its files are named.
    pub name: String,
    /// `Target[…]` as written.
    pub definition: String,
    /// What `Target[…]` computes over queries; `None` if it cannot be computed, so that every
    /// value is unknown.
    pub expression: Option<Arithmetic>,
    /// The query that the definition is over, if it is over one only: an index in the
    /// configuration's queries.
    pub only_query: Option<usize>,
    /// `Title`.
    pub title: String,
    /// `PageTop`, with line breaks for `\n`.
    pub page_top: Option<String>,
    /// `PageFoot`, with line breaks for `\n`.
    pub page_foot: Option<String>,
    /// `AddHead`, as written.
    pub add_head: Option<String>,
    /// `BodyTag`, as written.
    pub body_tag: Option<String>,
    /// The extension of the page's file; `html` unless given.
    pub extension: Cow<'static, str>,
    /// The folder of the target's files below the global ones: empty, or with a slash at its end.
    pub directory: String,
    /// `Clonedirectory`.
    pub clone_folder: Option<CloneFolder>,
    /// `MaxBytes1` and `MaxBytes2`, in bytes a second (or in the value's own unit).
    pub max_bytes: [f64; 2],
    /// `AbsMax`.
    pub abs_max: Option<f64>,
    /// Pictures whose axis is not fitted to the data.
    pub unscaled: Periods,
    /// Pictures that show peaks; `None` if the keyword is absent.
    pub with_peak: Option<Periods>,
    /// Pictures that are not made.
    pub suppress: Periods,
    /// Width of the plot, in pixels.
    pub x_size: u32,
    /// Height of the plot, in pixels.
    pub y_size: u32,
    /// Factor of the width on the page.
    pub x_zoom: f64,
    /// Factor of the height on the page.
    pub y_zoom: f64,
    /// Factor of the picture's width.
    pub x_scale: f64,
    /// Factor of the picture's height.
    pub y_scale: f64,
    /// Marks on the vertical axis.
    pub y_tics: u32,
    /// Factor of the numbers at the vertical axis.
    pub y_tics_factor: f64,
    /// Factor of the numbers on the page.
    pub factor: f64,
    /// `Step`, as written: MRTG reads and ignores it.
    pub step: Option<i64>,
    /// `Options`.
    pub options: TargetOptions,
    /// Four colours, or five with `dorelpercent`.
    pub colours: Cow<'static, [LegendColour]>,
    /// The page's background, `#rrggbb`.
    pub background: Cow<'static, str>,
    /// The colour of the page's text, as written.
    pub text_colour: Cow<'static, str>,
    /// What `k` means: 1000 or 1024.
    pub kilo: u64,
    /// `kMG` without spaces: prefixes with commas between.
    pub kmg: Option<String>,
    /// `YLegend`.
    pub y_legend: Option<String>,
    /// `ShortLegend`.
    pub short_legend: Option<String>,
    /// `Legend1` … `Legend5`.
    pub legends: [Option<String>; 5],
    /// `LegendI`; an empty one hides the line.
    pub legend_in: Option<String>,
    /// `LegendO`; an empty one hides the line.
    pub legend_out: Option<String>,
    /// `PNGTitle`.
    pub png_title: Option<String>,
    /// `Timezone`.
    pub time_zone: Option<String>,
    /// `Weekformat`: `U`, `V` or `W`.
    pub week_format: Option<String>,
    /// `TimeStrPos`.
    pub stamp_position: StampPosition,
    /// `TimeStrFmt`, as of strftime(3).
    pub stamp_format: Cow<'static, str>,
    /// `RRDRowCount…`.
    pub row_counts: RowCounts,
    /// `RRDHWRRAs`: archives for Holt-Winters forecasts, a specification each.
    pub hw_archives: Vec<String>,
    /// `SetEnv`: environment of programs.
    pub set_env: Vec<(String, String)>,
    /// `Thresh…`.
    pub thresholds: ThresholdRules,
    /// `HWThresh…`.
    pub hw_thresholds: ThresholdRules,
    /// `RouterUptime`: what is asked for the uptime, and where.
    pub router_uptime: Option<RouterObject>,
    /// `RouterName`: what is asked for the name, and where.
    pub router_name: Option<RouterObject>,
    /// `SnmpOptions[…]`, or the global ones.
    pub snmp_options: Arc<SnmpOptions>,
}

/// An object that `RouterUptime` or `RouterName` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterObject {
    /// The object as written; `None` for the usual one.
    pub object: Option<String>,
    /// The identifier in numbers; empty if the name is not known, `None` for the usual one.
    pub id: Option<Vec<u32>>,
    /// The device, an index; `None` for the one of the target.
    pub device: Option<usize>,
    /// The query that asks it, an index of a [`Query::Texts`]; `None` if no device is known.
    pub query: Option<usize>,
}

/// What a target's expression is over.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// Two objects of a device.
    Snmp(Arc<SnmpQuery>),
    /// Two objects of a device that are texts: for `RouterUptime` and `RouterName`.
    Texts(Arc<SnmpQuery>),
    /// The first four lines of a command's output: in, out, uptime, name.
    Program {
        /// The command, for `/bin/sh`.
        command: String,
    },
}

impl Query {
    /// The device, an index in the configuration's devices; `None` of a command.
    pub fn device(&self) -> Option<usize> {
        match self {
            Query::Snmp(query) | Query::Texts(query) => Some(query.device),
            Query::Program { .. } => None,
        }
    }
}

/// Two objects of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct SnmpQuery {
    /// The device, an index in the configuration's devices.
    pub device: usize,
    /// For in and for out, in the memory of all queries for the same.
    pub variables: Arc<[Variable; 2]>,
    /// The conversion that values pass through, by name.
    pub conversion: Option<String>,
    /// The target's definition as written, for messages.
    pub text: String,
}

/// One value of a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// What is asked.
    pub source: VariableSource,
    /// The interface that completes the object identifier.
    pub interface: InterfaceSelector,
}

/// What is asked for a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum VariableSource {
    /// Always this number: `PseudoZero`, `PseudoOne`.
    Constant(u8),
    /// An object.
    Object {
        /// The identifier as written: a name, numbers, or a name with numbers.
        name: Arc<str>,
        /// The identifier in numbers, without the interface; empty if the name is not known.
        id: Arc<[u32]>,
        /// How it is asked.
        method: ObjectMethod,
    },
}

/// How an object is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectMethod {
    /// GET of the identifier and the interface number.
    Get,
    /// GETNEXT: the value of the following object (`GeTNEXT`).
    Next,
    /// The value of this number in a walk below it, from 0 (`WaLK`).
    Walk(usize),
    /// How many values a walk finds (`CnTWaLK`).
    Count,
    /// GET, with the interface number at this place of the identifier (`IndexPOS`).
    IndexAt(usize),
}

/// How an interface is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InterfaceSelector {
    /// The object identifier is complete.
    None,
    /// By its number.
    Number(u32),
    /// By an IPv4 address (`/`).
    Address(String),
    /// By `ifDescr` (`\`).
    Description(String),
    /// By `ifName` (`#`).
    Name(String),
    /// By its Ethernet address, `00-11-22-33-44-55` (`!`).
    Ethernet(String),
    /// By `ifType` (`%`).
    Type(String),
}

impl std::fmt::Display for InterfaceSelector {
    /// As a configuration writes it, without escapes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            InterfaceSelector::None => f.write_str("the device"),
            InterfaceSelector::Number(number) => write!(f, "{number}"),
            InterfaceSelector::Address(text) => write!(f, "/{text}"),
            InterfaceSelector::Description(text) => write!(f, "\\{text}"),
            InterfaceSelector::Name(text) => write!(f, "#{text}"),
            InterfaceSelector::Ethernet(text) => write!(f, "!{text}"),
            InterfaceSelector::Type(text) => write!(f, "%{text}"),
        }
    }
}
