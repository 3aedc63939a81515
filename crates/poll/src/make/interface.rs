//! An interface as the target of a configuration: its names, its lines, and why it makes no sense.

use std::collections::HashSet;

use super::MakeError;
use super::facts::{MadeDevice, MadeInterface};
use super::request::DeviceRequest;
use super::{html_escape, interface_type};
use text::escape::is_whole;

use crate::script::{Scope, ScriptValue};
use crate::target::grammar::{self, FoundQuery, GrammarRules, ParsedQuery, query_of};
use crate::target::{InterfaceSelector, ObjectNames};

/// Types of interfaces, by the words that filters use.
const TYPES: [(&str, &[u32]); 7] = [
    ("if_is_ethernet", &[6, 7, 26, 62, 69, 117]),
    ("if_is_isdn", &[20, 21, 63, 75, 76, 77]),
    ("if_is_dialup", &[20, 21, 63, 75, 76, 77, 23, 81, 82, 108]),
    ("if_is_atm", &[37, 49, 107, 105, 106, 114, 134]),
    ("if_is_wan", &[22, 30, 32, 39, 44, 46]),
    ("if_is_lan", &[6, 7, 26, 62, 69, 117, 8, 9, 11, 15, 55, 59, 60, 115]),
    ("if_is_dsl", &[94, 95, 96, 97]),
];

/// What is written for an interface.
pub(super) struct Lines {
    pub(super) index: u32,
    /// Reasons against it.
    pub(super) problems: Vec<String>,
    /// Whether its lines are not commented out.
    pub(super) is_good: bool,
    pub(super) head: String,
    pub(super) target: String,
    /// Variables of filters and templates.
    pub(super) scope: Scope,
}

pub(super) struct InterfaceWriter<'a> {
    pub(super) request: &'a DeviceRequest,
    pub(super) device: &'a MadeDevice,
    pub(super) index: u32,
    pub(super) interface: MadeInterface,
    pub(super) folder: &'a str,
    pub(super) is_ipv4_only: bool,
    /// Variables of the host.
    pub(super) scope: Scope,
    /// Names of the device's targets so far, in lower case.
    pub(super) taken: &'a mut HashSet<String>,
}

/// How a target and its page name an interface.
struct Names {
    reference: String,
    target: String,
    prefix: &'static str,
    title: String,
    port: Option<String>,
    nortel_port: Option<String>,
}

impl InterfaceWriter<'_> {
    pub(super) fn lines(mut self) -> Result<Lines, MakeError> {
        let mut problems = Vec::new();
        let is_up = self.check_state(&mut problems);
        let is_type_good = self.check_type(&mut problems);
        let mut is_good = self.fix_speed(&mut problems);
        if let Some(broken) = &self.interface.broken {
            problems.push(format!("got '{broken}' from interface when trying to query"));
            is_good = false;
        }
        let names = self.names(&mut problems, &mut is_good)?;
        let head = format!(
            "### Interface {} >> Descr: '{}' | Name: '{}' | Ip: '{}' | Eth: '{}' ###\n",
            self.index,
            self.description(),
            self.interface_name(),
            self.address(),
            self.ethernet(),
        );
        let directives = self.directives(&names);
        let target = directives.iter().filter(|(_, text)| !text.is_empty());
        let target: String = target.map(|(_, text)| format!("{text}\n")).collect();
        let target = format!("\n{target}");
        self.set_scope(&names, is_up, is_type_good, &directives, &target);
        let mut lines =
            Lines { index: self.index, problems, is_good, head, target, scope: self.scope };
        lines.filter(&self.request.rules)?;
        Ok(lines)
    }

    fn check_state(&self, problems: &mut Vec<String>) -> bool {
        let rules = &self.request.rules;
        if rules.ignores_state {
            return true;
        }
        let before = problems.len();
        self.check_lost("ifAdminStatus", problems);
        match self.interface.admin_status {
            2 => problems.push("it is administratively DOWN".to_owned()),
            3 => problems.push("it is in administrative TEST mode".to_owned()),
            _ => {}
        }
        if !rules.ignores_operational_state {
            self.check_lost("ifOperStatus", problems);
            match self.interface.oper_status {
                2 => problems.push("it is operationally DOWN".to_owned()),
                3 => problems.push("it is in operational TEST mode".to_owned()),
                _ => {}
            }
        }
        problems.len() == before
    }

    /// What was not answered is not known: no state is `up` for it.
    fn check_lost(&self, column: &str, problems: &mut Vec<String>) -> bool {
        let why = self.device.why_lost(column);
        problems.extend(why.map(|why| format!("its {column} is not known: {why}")));
        why.is_some()
    }

    fn check_type(&self, problems: &mut Vec<String>) -> bool {
        if self.check_lost("ifType", problems) {
            return false;
        }
        let is_cisco = self.device.maker == "cisco";
        let reason = match self.interface.interface_type {
            18 if is_cisco => "it is a DS1 controllers",
            19 if is_cisco => "it is a E1 controllers",
            24 => "it is a Software Loopback interface",
            30 if is_cisco => "it is a DS3 controller",
            102 if is_cisco => "it is a Voice controller",
            103 if is_cisco => "it is a Voice dial peer",
            162 => {
                problems.push("it is a CEF Sub-interface".to_owned());
                return true;
            }
            _ if is_cisco && self.interface.description.as_deref() == Some("Null0") => {
                "it is a cisco Null0 interface"
            }
            _ => return true,
        };
        problems.push(reason.to_owned());
        false
    }

    /// Speeds that some devices do not tell.  False if there is none.
    fn fix_speed(&mut self, problems: &mut Vec<String>) -> bool {
        if self.interface.speed == 0 {
            self.interface.speed = self.request.rules.zero_speed.unwrap_or(0);
        }
        if self.interface.speed != 0 {
            return true;
        }
        let rmon = self.interface.description.as_deref().and_then(|text| {
            let rest = text.split_once("RMON VLAN ")?.1;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            (!digits.is_empty()).then_some(digits)
        });
        match (self.device.maker.as_str(), self.interface.interface_type, rmon) {
            ("foundry", 194, _) => self.interface.speed = 155_000_000,
            ("foundry", 135, _) => self.interface.speed = 1_000_000_000,
            ("3com", _, Some(vlan)) => {
                self.interface.speed = 100_000_000;
                self.interface.vlan = Some(vlan);
            }
            _ => {
                let lost = ["ifSpeed", "ifHighSpeed"].map(|name| self.check_lost(name, problems));
                if !lost.contains(&true) {
                    problems.push("has no ifSpeed property".to_owned());
                }
                return false;
            }
        }
        true
    }

    fn description(&self) -> String {
        let text = self.interface.description.as_deref().filter(|text| is_true(text));
        text.unwrap_or("No Description").trim_end_matches('\n').replace(' ', "-")
    }

    fn interface_name(&self) -> &str {
        self.interface.name.as_deref().filter(|text| is_true(text)).unwrap_or("No Name")
    }

    fn address(&self) -> String {
        self.interface.address.map_or("No Ip".to_owned(), |address| address.to_string())
    }

    fn ethernet(&self) -> &str {
        let text = self.interface.ethernet.as_deref().filter(|text| is_true(text));
        text.unwrap_or("No Ethernet Id")
    }

    /// The long description, of all that describes an interface.
    fn full_description(&self) -> String {
        let (alias, cisco) = (&self.interface.alias, &self.interface.cisco_description);
        format!("{} {alias} {cisco}", self.description())
    }

    fn names(
        &mut self,
        problems: &mut Vec<String>,
        is_good: &mut bool,
    ) -> Result<Names, MakeError> {
        let one = &self.interface;
        let address = one.address.map(|address| address.to_string());
        let by = |sign: &str, text: Option<&str>| {
            let text = text.filter(|text| is_true(text)).map(|text| format!("{sign}{text}"));
            text.filter(|reference| is_found_by(reference))
        };
        let index = self.index.to_string();
        let reference = match &self.request.rules.interface_reference {
            None => by("#", one.name.as_deref()).unwrap_or_else(|| index.clone()),
            Some(ways) => {
                let mut found = None;
                for way in ways.split(',') {
                    found = match way {
                        "ip" => by("/", address.as_deref()),
                        "eth" => by("!", one.ethernet.as_deref()),
                        "desc" | "descr" => by("\\", one.description.as_deref()),
                        "name" => by("#", one.name.as_deref()),
                        "type" => by("%", one.unique_type.as_deref()),
                        "nr" => Some(index.clone()),
                        _ => return Err(unknown_way("ifref", ways, way)),
                    };
                    if found.is_some() {
                        break;
                    }
                }
                found.unwrap_or_else(|| {
                    problems.push(format!("--ifref={ways} is not unique for this interface"));
                    *is_good = false;
                    index.clone()
                })
            }
        };
        let mut target = format!("{}_{}", self.request.full_name(), trimmed(&reference));
        if !self.taken.insert(target.to_ascii_lowercase()) {
            // Two texts that differ in signs only.
            target = format!("{target}_{index}");
            self.taken.insert(target.to_ascii_lowercase());
        }
        let port = one.name.as_deref().filter(|name| is_true(name)).unwrap_or("Unknown");
        let port = self.device.port_names.get(&port.replace('/', ".")).cloned();
        let mut names = Names {
            title: reference.trim_start_matches(['#', '!', '/', '\\', '%']).to_owned(),
            reference,
            target,
            prefix: "Traffic Analysis for ",
            port,
            nortel_port: one.port_name.clone(),
        };
        self.describe(&mut names)?;
        Ok(names)
    }

    /// `--ifdesc`.
    fn describe(&self, names: &mut Names) -> Result<(), MakeError> {
        let one = &self.interface;
        if let Some(ways) = &self.request.rules.interface_description {
            names.prefix = "";
            let has = |text: Option<&str>| text.is_some_and(is_true);
            let sign = |sign: &str, text: &Option<String>| {
                text.as_deref().filter(|text| is_true(text)).map(|text| format!("{sign}{text}"))
            };
            for way in ways.split(',') {
                let found = match way {
                    "ip" => one.address.map(|address| address.to_string()),
                    "eth" => sign("", &one.ethernet),
                    "desc" | "descr" => has(one.description.as_deref()).then(|| self.description()),
                    "alias" => is_true(&one.alias).then(|| self.full_description()),
                    "name" => sign("#", &one.name),
                    "catname" => Some(names.port.clone().unwrap_or_default()),
                    "ppname" => Some(names.nortel_port.clone().unwrap_or_default()),
                    "type" => sign("%", &one.unique_type),
                    "nr" => Some(format!("Interface {}", self.index)),
                    "" => Some(interface_type::name(one.interface_type).to_owned()),
                    _ => return Err(unknown_way("ifdesc", ways, way)),
                };
                if let Some(found) = found {
                    names.title = found;
                    break;
                }
            }
        }
        names.title = unescaped(&names.title);
        if !is_true(&names.title) {
            names.title = self.interface_name().to_owned();
        }
        Ok(())
    }

    /// Lines by the names that templates know them by; empty ones are left out.
    fn directives(&self, names: &Names) -> Vec<(&'static str, String)> {
        let (target, request) = (&names.target, self.request);
        let reference = escaped(&names.reference);
        let mut first = format!("Target[{target}]: {reference}:{}", request.connection());
        if request.snmp_option(4) == Some("3") {
            let options = request.security.iter().map(|(key, value)| format!("{key}=>'{value}'"));
            let options = options.collect::<Vec<_>>().join(",");
            first.push_str(&format!("\nSnmpOptions[{target}]: {options}"));
        }
        if self.interface.is_without_64_bits {
            first.push_str(&format!("\nnoHC[{target}]: yes"));
        }
        let description = self.description().replace('"', "'");
        let address = self.address();
        let optional = |is_wanted: bool, text: String| if is_wanted { text } else { String::new() };
        let title = format!(
            "{}{} -- {}",
            html_escape(names.prefix),
            html_escape(&names.title),
            html_escape(&self.device.name)
        );
        let folder = format!("Directory[{target}]: {}", self.folder);
        vec![
            ("target", first),
            (
                "setenv",
                format!(
                    "SetEnv[{target}]: MRTG_INT_IP=\"{address}\" MRTG_INT_DESCR=\"{description}\""
                ),
            ),
            ("directory", optional(!self.folder.is_empty(), folder)),
            ("maxbytes", format!("MaxBytes[{target}]: {}", self.interface.speed / 8)),
            ("ipv4only", optional(self.is_ipv4_only, format!("IPv4Only[{target}]: yes"))),
            ("title", format!("Title[{target}]: {title}")),
            ("pagetop", self.page_top(names, &title)),
        ]
    }

    fn page_top(&self, names: &Names, title: &str) -> String {
        let device = self.device;
        let type_number = match self.interface.interface_type {
            0 => "Unknown Type".to_owned(),
            number => number.to_string(),
        };
        let name = self.interface.address_name.as_deref().filter(|name| is_true(name));
        let mut rows = vec![
            (
                "System",
                format!("{} in {}", html_escape(&device.name), html_escape(&device.location)),
            ),
            ("Maintainer", html_escape(&device.contact)),
            ("Description", html_escape(&self.full_description())),
            (
                "ifType",
                format!(
                    "{} ({type_number})",
                    html_escape(interface_type::name(self.interface.interface_type))
                ),
            ),
            ("ifName", html_escape(self.interface_name())),
        ];
        rows.extend(
            [&names.port, &names.nortel_port]
                .into_iter()
                .flatten()
                .map(|port| ("Port Name", html_escape(port))),
        );
        rows.push(("Max Speed", self.speed_text()));
        rows.push((
            "Ip",
            format!("{} ({})", self.address(), html_escape(name.unwrap_or("No DNS name"))),
        ));
        let mut text = format!(
            "PageTop[{}]: <h1>{title}</h1>\n\t\t<div id=\"sysdetails\">\n\t\t\t<table>",
            names.target
        );
        for (label, value) in rows {
            text.push_str(&format!(
                "\n\t\t\t\t<tr>\n\t\t\t\t\t<td>{label}:</td>\n\t\t\t\t\t<td>{value}</td>\n\t\t\t\t</tr>"
            ));
        }
        text.push_str("\n\t\t\t</table>\n\t\t</div>");
        text
    }

    /// `1250.0 kBytes/s`.
    fn speed_text(&self) -> String {
        let mut speed = self.interface.speed / 8;
        let unit = if self.request.rules.is_bits { "bits/s" } else { "Bytes/s" };
        if self.request.rules.is_bits {
            speed = speed.saturating_mul(8);
        }
        let digits = speed.to_string().len();
        let power = digits.saturating_sub(2) / 3;
        let prefix = ["", "k", "M", "G"].get(power).copied();
        let number = speed as f64 / 1000_f64.powi(power as i32);
        match prefix {
            Some(prefix) => format!("{number:.1} {prefix}{unit}"),
            None => format!("{number:.1} "),
        }
    }

    /// Variables of filters and templates.
    fn set_scope(
        &mut self,
        names: &Names,
        is_up: bool,
        is_type_good: bool,
        directives: &[(&'static str, String)],
        target_lines: &str,
    ) {
        let one = &self.interface;
        let text = |text: &str| ScriptValue::from(text);
        let (maker, lower) = (&self.device.maker, self.description().to_ascii_lowercase());
        let vlan_name = lower.trim_start_matches("unrouted").trim_start_matches([' ', '-']);
        let vlan_number =
            vlan_name.strip_prefix("vlan").map(|rest| rest.trim_start_matches([' ', '-']));
        let is_vlan = maker == "cisco"
            && vlan_number.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
        let type_number = match one.interface_type {
            0 => text("Unknown Type"),
            number => ScriptValue::from(i64::from(number)),
        };
        let description = self.full_description();
        let title = format!("{}{} -- {}", names.prefix, names.title, self.device.name);
        let mut all: Vec<(String, ScriptValue)> = Vec::new();
        let mut put = |name: &str, value: ScriptValue| all.push((name.to_owned(), value));
        for (name, types) in TYPES {
            put(name, types.contains(&one.interface_type).into());
        }
        put("default", (is_up && is_type_good).into());
        put("default_ifstate", is_up.into());
        put("default_iftype", is_type_good.into());
        put("if_admin", (one.admin_status == 1).into());
        put("if_oper", (one.oper_status == 1).into());
        put("if_is_loopback", (one.interface_type == 24).into());
        put("if_is_ciscovlan", is_vlan.into());
        put("if_type", type_number.clone());
        put("if_type_num", type_number);
        put("if_index", ScriptValue::from(i64::from(self.index)));
        put("ifindex", ScriptValue::from(i64::from(self.index)));
        put("if_speed", ScriptValue::from((one.speed / 8) as f64));
        put("if_speed_str", text(&self.speed_text()));
        put("if_ip", text(&self.address()));
        put("if_eth", text(self.ethernet()));
        put("if_dns_name", text(one.address_name.as_deref().unwrap_or("No DNS name")));
        put("if_vlan_id", text(one.vlan.as_deref().unwrap_or("No Vlan")));
        put("if_cisco_trunk", one.is_trunk.into());
        put("if_MTU", text(one.mtu.as_deref().unwrap_or("No MTU")));
        put("if_ref", text(&names.reference));
        put("if_type_desc", text(interface_type::name(one.interface_type)));
        for (name, value) in [
            ("if_snmp_descr", self.description()),
            ("if_snmp_name", self.interface_name().to_owned()),
            ("if_snmp_alias", one.alias.clone()),
            ("if_cisco_descr", one.cisco_description.clone()),
            ("if_description", description),
            ("if_title", title),
            ("if_title_desc", names.title.clone()),
            ("desc_prefix", names.prefix.to_owned()),
        ] {
            put(&format!("html_{name}"), text(&html_escape(&value)));
            put(name, ScriptValue::from(value));
        }
        put("html_if_type_desc", text(&html_escape(interface_type::name(one.interface_type))));
        let port = |name: &Option<String>| name.as_deref().map(text).unwrap_or_default();
        put("if_port_name", port(&names.port));
        put("if_pp_port_name", port(&names.nortel_port));
        put("target_name", text(&names.target));
        put("trim_if_ref", text(&trimmed(&names.reference)));
        put("default_target_lines", text(target_lines));
        for (name, line) in directives {
            put(&format!("default_{name}_directive"), text(line));
            if *name == "ipv4only" {
                put("ipv4only_directive", text(line));
            }
        }
        self.scope.scalars.extend(all);
    }
}

impl Lines {
    /// A filter decides instead of the reasons.
    fn filter(&mut self, rules: &super::MakeRules) -> Result<(), MakeError> {
        if let Some(filter) = &rules.filter {
            let mut scope = self.scope.clone();
            scope.scalars.insert("if_ok".to_owned(), self.is_good.into());
            let kept = filter.run(&mut scope);
            let kept = kept.map_err(|source| MakeError::Script { option: "if-filter", source })?;
            if kept.is_true() {
                self.problems.clear();
            } else {
                let reason = "filter specified by --if-filter rejected the interface";
                self.problems.push(reason.to_owned());
                self.is_good = false;
            }
        }
        self.is_good &= self.problems.is_empty();
        Ok(())
    }
}

/// A reference as it is written in a target.
fn escaped(reference: &str) -> String {
    let mut out = String::new();
    for character in reference.chars() {
        if matches!(character, '&' | ' ' | ':' | '@') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Whether a target with this reference asks for it and nothing else: read as the configuration is.
fn is_found_by(reference: &str) -> bool {
    let text = reference.get(1..).unwrap_or_default();
    let expected = match reference.as_bytes().first() {
        Some(b'#') => InterfaceSelector::Name(text.to_owned()),
        Some(b'\\') => InterfaceSelector::Description(text.to_owned()),
        // The others are numbers.
        _ => return true,
    };
    let names = ObjectNames::default();
    let rules = GrammarRules { is_without_hc: true, names: &names };
    let found = grammar::parse(&format!("{}:public@host", escaped(reference)), rules);
    is_whole(text)
        && found.is_ok_and(|found| match &found.queries[..] {
            [FoundQuery { asked: ParsedQuery::Objects { variables, .. }, .. }] => {
                let is_alone = found.expression.trim().chars().all(|c| query_of(c).is_some());
                is_alone && variables.iter().all(|one| one.interface == expected)
            }
            _ => false,
        })
}

/// A reference without its signs, for the name of a target.  The name is part of paths and pages.
fn trimmed(reference: &str) -> String {
    let mut out = String::new();
    for character in reference.chars() {
        let is_sign = matches!(
            character,
            '#' | '!'
                | '/'
                | '\\'
                | ':'
                | '@'
                | '%'
                | '<'
                | '>'
                | '"'
                | '\''
                | '$'
                | ';'
                | '|'
                | '['
                | ']'
        );
        if !is_sign && !character.is_whitespace() {
            out.push(character);
        } else if !out.ends_with('\u{0}') {
            out.push('\u{0}');
        }
    }
    let out = out.replace('\u{0}', "_");
    let inner = out.trim_matches('_');
    if inner.is_empty() { out } else { inner.to_owned() }
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let is_escape = character == '\\'
            && rest.peek().is_some_and(|next| matches!(next, ':' | '@' | '\\' | '/' | '#' | ' '));
        out.extend(if is_escape { rest.next() } else { Some(character) });
    }
    out
}

/// Perl takes the empty text and `0` for nothing.
fn is_true(text: &str) -> bool {
    !text.is_empty() && text != "0"
}

fn unknown_way(option: &'static str, ways: &str, way: &str) -> MakeError {
    MakeError::Option { option, reason: format!("invalid value {ways} ({way})") }
}
