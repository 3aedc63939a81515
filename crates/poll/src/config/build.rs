//! Targets, queries and devices from the raw values.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use crate::conversion::Conversions;
use crate::device::{Device, SnmpOptions, SnmpVersion};
use crate::options::{
    CloneFolder, LegendColour, PIXELS_MAX, RowCounts, StampPosition, TargetOptions,
};
use crate::problem::{ConfigLine, Problems, without_communities, without_secrets};
use crate::target::grammar::{self, DeviceText, GrammarRules, ParsedQuery};
use crate::target::{
    Arithmetic, ExpressionError, InterfaceSelector, ObjectMethod, ObjectNames, PollTarget, Query,
    RouterObject, SnmpQuery, Variable, VariableSource,
};
use crate::thresholds::ThresholdRules;

use super::assign::{RawConfig, RawTarget};
use super::{Config, Global, LogFormat, global::with_slash, options, rules};

/// Collects what targets share.
struct Builder<'a> {
    global: &'a Global,
    names: &'a ObjectNames,
    conversions: &'a Conversions,
    queries: Vec<Query>,
    query_index: HashMap<String, usize>,
    devices: Vec<Device>,
    device_index: HashMap<String, Vec<usize>>,
    /// Objects of queries, in memory once.
    variables: HashSet<Arc<[Variable; 2]>>,
    /// The latest device, and what it was made from.
    latest_device: Option<(DeviceKey, usize)>,
    /// The latest `Options` without a fault.
    latest_options: Option<(String, TargetOptions)>,
    /// The global SNMP options.
    snmp_options: Arc<SnmpOptions>,
    problems: &'a mut Problems,
}

/// What a device is made from.
struct DeviceKey {
    text: DeviceText,
    snmp_options: Arc<SnmpOptions>,
    is_ipv4_only: bool,
}

/// Builds all targets.
pub(super) fn build(
    raw: &RawConfig<'_>,
    global: Global,
    names: &ObjectNames,
    conversions: Conversions,
    problems: &mut Problems,
) -> Config {
    let mut builder = Builder {
        global: &global,
        names,
        conversions: &conversions,
        queries: Vec::new(),
        query_index: HashMap::new(),
        devices: Vec::new(),
        device_index: HashMap::new(),
        variables: HashSet::new(),
        latest_device: None,
        latest_options: None,
        snmp_options: Arc::new(global.snmp_options.clone()),
        problems,
    };
    let targets = raw.targets.iter().map(|target| builder.target(target)).collect();
    let Builder { queries, devices, .. } = builder;
    Config { targets, queries, devices, conversions, files: Vec::new(), global }
}

/// A value that is neither absent nor, to Perl, false.
fn truthy(raw: &RawTarget<'_>, key: &str) -> Option<String> {
    raw.get(key).filter(|value| !value.is_empty() && *value != "0").map(str::to_owned)
}

fn number_or(raw: &RawTarget<'_>, key: &str, default: f64) -> f64 {
    raw.get(key).map_or(default, perl::leading_number)
}

fn count_or(raw: &RawTarget<'_>, key: &str, default: u32) -> u32 {
    raw.get(key)
        .map_or(default, |value| u32::try_from(perl::leading_integer(value)).unwrap_or(default))
}

impl Builder<'_> {
    fn error(&mut self, raw: &RawTarget<'_>, key: &str, text: impl Into<String>) {
        let at = raw.place(key).cloned();
        self.problems.error(at.as_ref(), text);
    }

    fn target(&mut self, raw: &RawTarget<'_>) -> PollTarget {
        let name = &raw.name;
        let text = |key: &str| raw.get(key).map(str::to_owned);
        let with_lines = |key: &str| text(key).map(|value| value.replace("\\n", "\n"));
        if raw.get("threshmailaddress").is_some() && self.global.threshold_mail_server.is_none() {
            self.error(
                raw,
                "threshmailaddress",
                format!("ThreshMailAddress[{name}] needs ThreshMailServer"),
            );
        }
        if raw.get("title").is_none() {
            self.error(raw, "title", format!("Title[{name}] is missing"));
        }
        let snmp_options = match raw.get("snmpoptions") {
            Some(own) => {
                Arc::new(options::snmp(Some(own), raw.place("snmpoptions"), self.problems))
            }
            None => Arc::clone(&self.snmp_options),
        };
        let (flags, count) = self.options(raw);
        self.check_picture(raw);
        self.check_rows(raw);
        let max_bytes = self.max_bytes(raw);
        let (expression, only_query) = self.definition(raw, &snmp_options);
        let device = only_query.and_then(|query| self.queries[query].device());
        let router_uptime = self.router_object(raw, RouterKey::Uptime, device, &snmp_options);
        let uptime_device = router_uptime.as_ref().and_then(|object| object.device);
        let other = device.or(uptime_device);
        let router_name = self.router_object(raw, RouterKey::Name, other, &snmp_options);
        let background = self.colour(raw, "background", "#ffffff");
        let contrast = options::contrast(&background);
        let text_colour = text("textcolor").map_or(Cow::Borrowed(contrast), Cow::Owned);
        self.colour(raw, "textcolor", contrast);
        let stamp = raw.get("timestrpos").map_or(StampPosition::None, options::stamp_position);
        let dated = if raw.get("timezone").is_some_and(|zone| !zone.is_empty() && zone != "0") {
            "%Y-%m-%d %H:%M %Z"
        } else {
            "%Y-%m-%d %H:%M"
        };
        let (stamp_position, stamp_format) = match flags.pngdate {
            true => (StampPosition::RightUpper, Cow::Borrowed(dated)),
            false => {
                (stamp, text("timestrfmt").map_or(Cow::Borrowed("%Y-%m-%d %H:%M"), Cow::Owned))
            }
        };
        PollTarget {
            definition: text("target").unwrap_or_default(),
            expression,
            only_query,
            title: text("title").unwrap_or_default(),
            page_top: with_lines("pagetop"),
            page_foot: with_lines("pagefoot"),
            add_head: text("addhead"),
            body_tag: text("bodytag"),
            extension: text("extension").map_or(Cow::Borrowed("html"), Cow::Owned),
            directory: match text("directory") {
                // To Perl it is nothing, and gets no slash.
                Some(folder) if folder == "0" => folder,
                folder => folder.map(|folder| with_slash(&folder)).unwrap_or_default(),
            },
            clone_folder: truthy(raw, "clonedirectory").map(|value| clone_folder(&value)),
            max_bytes,
            abs_max: self.abs_max(raw, max_bytes),
            unscaled: raw.get("unscaled").map(options::periods).unwrap_or_default(),
            with_peak: raw.get("withpeak").map(options::periods),
            suppress: raw.get("suppress").map(options::periods).unwrap_or_default(),
            x_size: count_or(raw, "xsize", 400),
            y_size: count_or(raw, "ysize", 100),
            x_zoom: number_or(raw, "xzoom", 1.0),
            y_zoom: number_or(raw, "yzoom", 1.0),
            x_scale: number_or(raw, "xscale", 1.0),
            y_scale: number_or(raw, "yscale", 1.0),
            y_tics: count_or(raw, "ytics", 4),
            y_tics_factor: number_or(raw, "yticsfactor", 1.0),
            factor: number_or(raw, "factor", 1.0),
            step: raw.get("step").map(perl::leading_integer),
            colours: self.colours(raw, count),
            options: flags,
            background,
            text_colour,
            kilo: raw.get("kilo").map_or(1000, |value| value.parse().unwrap_or(u64::MAX)),
            kmg: text("kmg").map(|value| value.split_ascii_whitespace().collect()),
            y_legend: text("ylegend"),
            short_legend: text("shortlegend"),
            legends: ["legend1", "legend2", "legend3", "legend4", "legend5"].map(text),
            legend_in: text("legendi"),
            legend_out: text("legendo"),
            png_title: text("pngtitle"),
            time_zone: text("timezone"),
            week_format: text("weekformat"),
            stamp_position,
            stamp_format,
            row_counts: RowCounts {
                of_step: truthy(raw, "rrdrowcount"),
                of_30_minutes: truthy(raw, "rrdrowcount30m"),
                of_2_hours: truthy(raw, "rrdrowcount2h"),
                of_1_day: truthy(raw, "rrdrowcount1d"),
            },
            hw_archives: raw
                .get("rrdhwrras")
                .map(|value| value.split_ascii_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            set_env: raw.get("setenv").and_then(rules::environment).unwrap_or_default(),
            thresholds: thresholds(raw, "thresh"),
            hw_thresholds: thresholds(raw, "hwthresh"),
            router_uptime,
            router_name,
            snmp_options,
            name: name.clone().into_owned(),
        }
    }

    /// The flags, and how many colours they need.
    fn options(&mut self, raw: &RawTarget<'_>) -> (TargetOptions, usize) {
        let written = raw.get("options").unwrap_or_default();
        let latest = self.latest_options.as_ref().filter(|(text, _)| text == written);
        let flags = match latest {
            Some((_, flags)) => *flags,
            None => self.parse_options(raw, written),
        };
        (flags, if flags.dorelpercent { 5 } else { 4 })
    }

    fn parse_options(&mut self, raw: &RawTarget<'_>, written: &str) -> TargetOptions {
        let mut flags = TargetOptions::default();
        let mut is_right = true;
        let text = written.to_ascii_lowercase();
        let is_between = |c: char| c == ',' || c.is_ascii_whitespace();
        // Perl's split drops empty words at the end only.
        let trimmed = text.trim_end_matches(is_between);
        let mut words: Vec<&str> = Vec::new();
        if !trimmed.is_empty() {
            words.extend(trimmed.split(is_between).filter(|word| !word.is_empty()));
            if trimmed.starts_with(is_between) {
                words.insert(0, "");
            }
        }
        for word in words {
            match flags.flag(word) {
                Some(flag) => *flag = true,
                None => {
                    is_right = false;
                    self.error(
                        raw,
                        "options",
                        format!("Options[{}]: there is no option `{word}`", raw.name),
                    );
                }
            }
        }
        if flags.derive && self.global.log_format != LogFormat::Rrdtool {
            is_right = false;
            self.error(
                raw,
                "options",
                format!("Options[{}]: derive needs `LogFormat: rrdtool`", raw.name),
            );
        }
        if is_right {
            self.latest_options = Some((written.to_owned(), flags));
        }
        flags
    }

    /// `XSize`, `YSize` and their scales: a picture that cannot be drawn would be an empty file.
    fn check_picture(&mut self, raw: &RawTarget<'_>) {
        let sizes = [("xsize", "xscale", 400), ("ysize", "yscale", 100)];
        let [width, height] = sizes.map(|(size, scale, usual)| {
            f64::from(count_or(raw, size, usual)) * number_or(raw, scale, 1.0)
        });
        if ["xsize", "ysize"].iter().any(|key| count_or(raw, key, 30) < 30) {
            // That is said already.
            return;
        }
        // Beside the plot are at most 130 pixels, above and below it 35.
        let pixels = (width + 130.0) * (height + 35.0);
        if !(width >= 1.0 && height >= 1.0 && pixels <= PIXELS_MAX as f64) {
            let what = format!(
                "ysize[{}]: XSize, YSize and their scales give no picture: {width} × {height} pixels",
                raw.name
            );
            self.error(raw, "ysize", what);
        }
    }

    /// `RRDRowCount` and its relatives.
    fn check_rows(&mut self, raw: &RawTarget<'_>) {
        for key in ["rrdrowcount", "rrdrowcount30m", "rrdrowcount2h", "rrdrowcount1d"] {
            let Some(value) = truthy(raw, key) else { continue };
            if value.parse::<u32>().is_err() {
                self.error(raw, key, format!("{key}[{}]: `{value}` is no count of rows", raw.name));
            }
        }
    }

    fn max_bytes(&mut self, raw: &RawTarget<'_>) -> [f64; 2] {
        let values = ["maxbytes1", "maxbytes2"].map(|key| raw.get(key).or(raw.get("maxbytes")));
        let missing = match values {
            [None, None] => vec!["MaxBytes"],
            [one, other] => {
                let names = [(one, "MaxBytes1"), (other, "MaxBytes2")];
                names.iter().filter(|(value, _)| value.is_none()).map(|(_, name)| *name).collect()
            }
        };
        for name in missing {
            self.error(raw, "maxbytes", format!("{name}[{}] is missing", raw.name));
        }
        values.map(|value| value.map_or(0.0, perl::leading_number))
    }

    fn abs_max(&mut self, raw: &RawTarget<'_>, max_bytes: [f64; 2]) -> Option<f64> {
        let abs_max = raw.get("absmax").map(perl::leading_number)?;
        let most = max_bytes[0].max(max_bytes[1]);
        if abs_max < most {
            let what = format!("AbsMax[{}]: {abs_max} is smaller than MaxBytes {most}", raw.name);
            self.error(raw, "absmax", what);
        }
        Some(abs_max)
    }

    fn colour(
        &mut self,
        raw: &RawTarget<'_>,
        key: &str,
        default: &'static str,
    ) -> Cow<'static, str> {
        let Some(value) = raw.get(key) else { return Cow::Borrowed(default) };
        match options::colour(value) {
            Some(colour) => Cow::Owned(colour.to_owned()),
            None => {
                let what = format!("{key}[{}]: `{value}` is not #rrggbb", raw.name);
                self.error(raw, key, what);
                Cow::Borrowed(default)
            }
        }
    }

    fn colours(&mut self, raw: &RawTarget<'_>, count: usize) -> Cow<'static, [LegendColour]> {
        let Some(text) = raw.get("colours") else { return options::default_colours(count) };
        if let Some(colours) = options::colours(text, count) {
            return Cow::Owned(colours);
        }
        let what = format!(
            "Colours[{}]: `{text}` is not {count} colours as Name#rrggbb,Name#rrggbb,…",
            raw.name
        );
        self.error(raw, "colours", what);
        options::default_colours(count)
    }

    /// The expression, and the query that it is over if there is only one.
    fn definition(
        &mut self,
        raw: &RawTarget<'_>,
        snmp_options: &Arc<SnmpOptions>,
    ) -> (Option<Arithmetic>, Option<usize>) {
        let Some(text) = raw.get("target") else {
            self.error(raw, "target", format!("Target[{}] is missing", raw.name));
            return (None, None);
        };
        let is_without_hc = raw.get("nohc").is_some_and(|value| value.eq_ignore_ascii_case("yes"));
        let at = raw.place("target");
        let shown = || format!("Target[{}]", raw.name);
        let rules = GrammarRules { is_without_hc, names: self.names };
        let definition = match grammar::parse(text, rules) {
            Ok(definition) => definition,
            Err(error) => {
                self.problems.warning(at, format!("{} is always unknown: {error}", shown()));
                return (None, None);
            }
        };
        let is_yes = |value: &str| value.eq_ignore_ascii_case("yes");
        let is_ipv4_only = !self.global.has_ipv6 || raw.get("ipv4only").is_some_and(is_yes);
        let mut numbers = Vec::new();
        for query in definition.queries {
            let number = self.query_index.get(&query.text).copied();
            numbers.push(number.unwrap_or_else(|| {
                let number = self.queries.len();
                let asked = query.asked;
                let known = self.query(&query.text, asked, snmp_options, is_ipv4_only, at);
                self.queries.push(known);
                self.query_index.insert(query.text, number);
                number
            }));
        }
        if let ([only], true) = (numbers.as_slice(), definition.is_query) {
            return (Some(Arithmetic::Value(*only)), Some(*only));
        }
        match Arithmetic::parse(&definition.expression) {
            Ok(mut expression) => {
                expression.renumber(&|number| numbers.get(number).copied().unwrap_or(usize::MAX));
                let over = expression.values();
                let only = if let [only] = over.as_slice() { Some(*only) } else { None };
                (Some(expression), only)
            }
            Err(ExpressionError::Unsupported(what)) => {
                let shown = shown();
                let what = without_secrets(&what, &definition.expression);
                let what = format!("{shown}: {what} cannot be used in a target: see docs/poll.md");
                self.problems.error(at, what);
                (None, None)
            }
            Err(ExpressionError::Malformed(what)) => {
                let what = without_secrets(&what, &definition.expression);
                self.problems.warning(at, format!("{} is always unknown: {what}", shown()));
                (None, None)
            }
        }
    }

    fn query(
        &mut self,
        text: &str,
        asked: ParsedQuery,
        snmp_options: &Arc<SnmpOptions>,
        is_ipv4_only: bool,
        at: Option<&ConfigLine>,
    ) -> Query {
        let text = without_communities(text);
        let (variables, device, conversion) = match asked {
            ParsedQuery::Command(command) => return Query::Program { command },
            ParsedQuery::Objects { variables, device, conversion } => {
                (*variables, device, conversion)
            }
        };
        for variable in &variables {
            if let VariableSource::Object { name, id, .. } = &variable.source
                && id.len() < 2
            {
                let what = format!(
                    "{text}: there is no object {name}: LoadMIBs names files of more names"
                );
                self.problems.warning(at, what);
            }
        }
        if let Some(name) = &conversion
            && !self.conversions.has(name)
        {
            let what = format!("{text} is always unknown: ConversionCode has no sub {name}");
            self.problems.warning(at, what);
        }
        let device = self.device(device, snmp_options, is_ipv4_only, at);
        let variables = self.shared(variables);
        Query::Snmp(Arc::new(SnmpQuery { device, variables, conversion, text }))
    }

    /// Two objects, in the memory that other queries for the same have them in.
    fn shared(&mut self, variables: [Variable; 2]) -> Arc<[Variable; 2]> {
        if let Some(known) = self.variables.get(&variables) {
            return Arc::clone(known);
        }
        let variables = Arc::new(variables);
        self.variables.insert(Arc::clone(&variables));
        variables
    }

    fn device(
        &mut self,
        text: DeviceText,
        snmp_options: &Arc<SnmpOptions>,
        is_ipv4_only: bool,
        at: Option<&ConfigLine>,
    ) -> usize {
        // Targets of a device follow one another in most files.
        let is_latest = |(key, _): &&(DeviceKey, usize)| {
            let is_same = Arc::ptr_eq(&key.snmp_options, snmp_options);
            is_same && key.is_ipv4_only == is_ipv4_only && key.text == text
        };
        if let Some((_, number)) = self.latest_device.as_ref().filter(is_latest) {
            return *number;
        }
        let (mut device, faults) = device(&text, snmp_options, is_ipv4_only);
        let mut is_changed = !faults.is_empty();
        for fault in faults {
            self.problems.error(at, format!("{}: {fault}", device.text));
        }
        if device.version == SnmpVersion::V3 && !self.global.has_snmpv3 {
            // As MRTG without its library for version 3.
            device.version = SnmpVersion::V1;
            is_changed = true;
            let what =
                format!("{}: version 3 needs `EnableSnmpV3: yes`; version 1 is used", device.text);
            self.problems.warning(at, what);
        }
        if device.version == SnmpVersion::V3 && device.options.user.is_none() {
            is_changed = true;
            let what =
                format!("{}: version 3 needs a user: SnmpOptions has no username", device.text);
            self.problems.error(at, what);
        }
        let same = self.device_index.entry(device.text.clone()).or_default();
        let known = same.iter().copied().find(|&number| self.devices[number] == device);
        let number = known.unwrap_or_else(|| {
            same.push(self.devices.len());
            self.devices.push(device);
            self.devices.len() - 1
        });
        // What is warned of is said for each target.
        let key = DeviceKey { text, snmp_options: Arc::clone(snmp_options), is_ipv4_only };
        self.latest_device = (!is_changed).then_some((key, number));
        number
    }

    /// `OID:community@host…`, `community@host…` or `OID`; without a place it is of `device`.
    fn router_object(
        &mut self,
        raw: &RawTarget<'_>,
        key: RouterKey,
        device: Option<usize>,
        snmp_options: &Arc<SnmpOptions>,
    ) -> Option<RouterObject> {
        let (shown, key, usual) = match key {
            RouterKey::Uptime => ("RouterUptime", "routeruptime", "sysUpTime"),
            RouterKey::Name => ("RouterName", "routername", "sysName"),
        };
        let text = raw.get(key)?.to_owned();
        let shown = format!("{shown}[{}]", raw.name);
        let at = raw.place(key).cloned();
        let (object, place) = match text.split_once(':') {
            Some((object, place)) if !object.contains('@') => (object, Some(place.to_owned())),
            _ if text.contains('@') => ("", Some(text.clone())),
            _ => (text.as_str(), None),
        };
        let is_ipv4_only = !self.global.has_ipv6
            || raw.get("ipv4only").is_some_and(|value| value.eq_ignore_ascii_case("yes"));
        let own = place.as_deref().map(device_text).and_then(|parsed| match parsed {
            Some(device) => Some(self.device(device, snmp_options, is_ipv4_only, at.as_ref())),
            None => {
                let what =
                    format!("{shown}: `{}` names no community@host", without_communities(&text));
                self.problems.warning(at.as_ref(), what);
                None
            }
        });
        let name = if object.is_empty() { usual } else { object };
        let id = self.names.id(name).unwrap_or_default();
        if id.is_empty() {
            let what = format!("{shown}: there is no object {name}");
            self.problems.warning(at.as_ref(), what);
        }
        let asked = if place.is_some() { own } else { device };
        if asked.is_none() && place.is_none() {
            let what = format!(
                "{shown} is unknown: the target is not of one device, so it needs OID:community@host"
            );
            self.problems.warning(at.as_ref(), what);
        }
        // The name is that of the device that is asked for the uptime.
        let system = self.names.id("sysName").unwrap_or_default();
        let ids =
            if key == "routeruptime" { [id.clone(), system] } else { [id.clone(), id.clone()] };
        let query = asked.map(|device| {
            self.texts(device, ids, format!("{shown}: {}", without_communities(&text)))
        });
        let object = (!object.is_empty()).then(|| object.to_owned());
        let id = object.is_some().then_some(id);
        Some(RouterObject { object, id, device: own, query })
    }

    /// A query for two texts of a device; one for all targets that want the same.
    fn texts(&mut self, device: usize, ids: [Vec<u32>; 2], text: String) -> usize {
        let variables = ids.map(|id| Variable {
            source: VariableSource::Object {
                name: "".into(),
                id: id.into(),
                method: ObjectMethod::Get,
            },
            interface: InterfaceSelector::None,
        });
        // No definition of a target begins so.
        let key = format!("\0{device} {variables:?}");
        *self.query_index.entry(key).or_insert_with(|| {
            let variables = Arc::new(variables);
            let query = SnmpQuery { device, variables, conversion: None, text };
            self.queries.push(Query::Texts(Arc::new(query)));
            self.queries.len() - 1
        })
    }
}

/// Which of the two keywords.
#[derive(Clone, Copy)]
enum RouterKey {
    Uptime,
    Name,
}

fn device_text(text: &str) -> Option<DeviceText> {
    let (community, rest) = text.rsplit_once('@')?;
    let end = match rest.starts_with('[') {
        true => rest.find(']')? + 1,
        false => rest.find(':').unwrap_or(rest.len()),
    };
    let (host, options) = rest.split_at(end);
    let [community, host, options] = [community, host, options].map(str::to_owned);
    (!host.is_empty()).then_some(DeviceText { community, host, options })
}

/// What a device's text says, `:port!address!port:timeout:retries:backoff:version`, and what is wrong
/// with it.
fn device(
    text: &DeviceText,
    snmp_options: &Arc<SnmpOptions>,
    is_ipv4_only: bool,
) -> (Device, Vec<String>) {
    let mut parts = DeviceParts { rest: text.options.split(':'), faults: Vec::new() };
    parts.rest.next();
    let mut ports = parts.rest.next().unwrap_or_default().split('!');
    let port = parts.port(ports.next());
    let local_address = ports.next().filter(|part| !part.is_empty());
    if let Some(address) = local_address.filter(|text| text.parse::<IpAddr>().is_err()) {
        parts.faults.push(format!("`{address}` is no local address"));
    }
    let local_port = parts.port(ports.next());
    parts.end(ports.next(), "the local port");
    let [timeout, retries, backoff] = [false, true, false].map(|is_count| parts.number(is_count));
    let version = parts.version();
    // `v4only`, which follows the version, was taken away before.
    let rest = parts.rest.find(|part| !part.is_empty());
    parts.end(rest, "the version");
    let device = Device {
        host: text.host.trim_start_matches('[').trim_end_matches(']').to_owned(),
        port: port.unwrap_or(161),
        local_address: local_address.map(str::to_owned),
        local_port,
        community: text.community.clone(),
        timeout_s: timeout.or(snmp_options.timeout_s).unwrap_or(2.0),
        retries: retries.map(|count| count as u32).or(snmp_options.retries).unwrap_or(5),
        backoff: backoff.or(snmp_options.backoff).unwrap_or(1.0),
        version,
        is_ipv4_only,
        options: SnmpOptions::clone(snmp_options),
        text: format!("{}{}", text.host, text.options),
    };
    (device, parts.faults)
}

/// The parts of a device's options that are still to be read; an empty one is the usual value.
struct DeviceParts<'a> {
    rest: std::str::Split<'a, char>,
    faults: Vec<String>,
}

impl DeviceParts<'_> {
    fn port(&mut self, text: Option<&str>) -> Option<u16> {
        let text = text.filter(|text| !text.is_empty())?;
        let port = text.parse().ok().filter(|&port| port > 0);
        if port.is_none() {
            self.faults.push(format!("`{text}` is no port from 1 to 65535"));
        }
        port
    }

    /// A wait, its factor, or a count of requests.
    fn number(&mut self, is_count: bool) -> Option<f64> {
        let text = self.rest.next().filter(|text| !text.is_empty())?;
        let number = options::wait(text, is_count);
        if let Err(fault) = &number {
            self.faults.push(format!("`{text}` {fault}"));
        }
        number.ok()
    }

    /// What follows the last part has no meaning.
    fn end(&mut self, rest: Option<&str>, last: &str) {
        if let Some(rest) = rest {
            self.faults.push(format!("`{rest}` after {last} has no meaning"));
        }
    }

    fn version(&mut self) -> SnmpVersion {
        match self.rest.next().unwrap_or_default() {
            "" | "1" => SnmpVersion::V1,
            "2" | "2c" | "2C" => SnmpVersion::V2c,
            "3" => SnmpVersion::V3,
            other => {
                self.faults.push(format!("there is no version {other} of SNMP: 1, 2 or 3"));
                SnmpVersion::V1
            }
        }
    }
}

fn clone_folder(value: &str) -> CloneFolder {
    let is_between = |c: char| c == ',' || c.is_ascii_whitespace();
    let mut parts = value.trim_ascii().splitn(2, is_between);
    let folder = parts.next().unwrap_or_default().to_owned();
    let rest: String = parts.next().unwrap_or_default().split_ascii_whitespace().collect();
    let name = Some(rest.to_ascii_lowercase()).filter(|name| !name.is_empty());
    CloneFolder { folder, name }
}

fn thresholds(raw: &RawTarget<'_>, kind: &str) -> ThresholdRules {
    if !raw.has_keys_of(kind) {
        return ThresholdRules::default();
    }
    let text = |key: &str| raw.get(&format!("{kind}{key}")).map(str::to_owned);
    ThresholdRules {
        minimum: ["mini", "mino"].map(text),
        maximum: ["maxi", "maxo"].map(text),
        description: text("desc"),
        programs: ["progi", "progo"].map(text),
        programs_ok: ["progoki", "progoko"].map(text),
        mail_address: text("mailaddress"),
    }
}
