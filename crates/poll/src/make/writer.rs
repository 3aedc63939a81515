//! The text of a configuration.

use std::collections::HashSet;

use super::MakeError;
use super::facts::MadeDevice;
use super::html_escape;
use super::interface::InterfaceWriter;
use super::request::DeviceRequest;
use text::escape::is_whole;

use crate::script::{Scope, Script, ScriptValue};

/// What holds for the whole file.
#[derive(Debug, Clone, Default)]
pub struct MakeRequest {
    /// The command line, for the comment at the top.
    pub command_line: String,
    /// `--nodefaultglobal`.
    pub is_without_default_globals: bool,
    /// `--enable-ipv6`.
    pub has_ipv6: bool,
    /// Global lines after the last device.
    pub last_lines: Vec<String>,
}

/// Writes the configuration of devices.
///
/// # Errors
/// If an option has no meaning, or a script fails.
pub fn configuration(
    request: &MakeRequest,
    devices: &[(DeviceRequest, MadeDevice)],
) -> Result<String, MakeError> {
    let mut out = format!("# Created by \n# {}\n\n", request.command_line);
    if !request.is_without_default_globals {
        out.push_str(
            "\n### Global Config Options\n\nWorkDir: /var/www/html/mrtg\n\n\
             ### Global Defaults\n\n\
             #  bits instead of bytes, and time from left to right\n\
             # Options[_]: growright, bits\n\n",
        );
    }
    let ipv6 = if request.has_ipv6 { "yes" } else { "no" };
    out.push_str(&format!("EnableIPv6: {ipv6}\n"));
    for (asked, device) in devices {
        for line in &asked.global_lines {
            out.push_str(&format!("{line}\n"));
        }
        write_device(&mut out, request, asked, device)?;
    }
    for line in &request.last_lines {
        out.push_str(&format!("{line}\n"));
    }
    Ok(out)
}

fn write_device(
    out: &mut String,
    request: &MakeRequest,
    asked: &DeviceRequest,
    device: &MadeDevice,
) -> Result<(), MakeError> {
    let rules = &asked.rules;
    let folder = rules.subfolders.as_deref().unwrap_or_default();
    let folder = folder.replace("HOSTNAME", &asked.full_name());
    let folder = folder.replace("SNMPNAME", &folder_name(&device.name));
    let mut scope = scope(asked, device, &folder);
    let line = "######################################################################";
    let description = device.description_lines.join(COMMENT_BREAK);
    let lost = device.lost_text().map(|text| format!("# Not answered: {text}\n"));
    let lost = lost.unwrap_or_default();
    let head = format!(
        "\n{line}\n# System: {}\n# Description: {description}\n# Contact: {}\n# Location: {}\n\
         {lost}{line}\n",
        device.name, device.contact, device.location
    );
    let lines = [head, String::new(), String::new(), "\n\n".to_owned()];
    let lines = templated(rules.host_template.as_ref(), "host-template", &mut scope, lines)?;
    out.push_str(&lines.concat());
    let mut taken = HashSet::new();
    for (&index, interface) in &device.interfaces {
        let writer = InterfaceWriter {
            taken: &mut taken,
            request: asked,
            device,
            index,
            interface: interface.clone(),
            folder: &folder,
            is_ipv4_only: request.has_ipv6 && !asked.host.starts_with('['),
            scope: scope.clone(),
        };
        let mut lines = writer.lines()?;
        let mut problems = String::new();
        if !lines.problems.is_empty() {
            problems.push_str("### The following interface is commented out because:\n");
            problems.extend(lines.problems.iter().map(|problem| format!("### * {problem}\n")));
        }
        let target = match rules.template {
            None => lines.target.clone(),
            Some(_) => String::new(),
        };
        lines.scope.scalars.insert("if_ok".to_owned(), lines.is_good.into());
        lines
            .scope
            .scalars
            .insert("if_index".to_owned(), ScriptValue::from(i64::from(lines.index)));
        let all = [lines.head.clone(), problems, target, "\n\n".to_owned()];
        let [head, problems, mut target, end] =
            templated(rules.template.as_ref(), "if-template", &mut lines.scope, all)?;
        let is_good = lines.scope.scalars.get("if_ok").is_some_and(ScriptValue::is_true);
        if !is_good && !target.is_empty() {
            target = commented_out(&target);
        }
        out.push_str(&[head, problems, target, end].concat());
    }
    Ok(())
}

/// Between the lines of a comment.
const COMMENT_BREAK: &str = "\n#          ";

const LINES: [&str; 4] = ["head_lines", "problem_lines", "target_lines", "separator_lines"];

/// Lets a template change the four parts of a section.
fn templated(
    template: Option<&Script>,
    option: &'static str,
    scope: &mut Scope,
    lines: [String; 4],
) -> Result<[String; 4], MakeError> {
    let Some(template) = template else { return Ok(lines) };
    let saved = scope.clone();
    for (name, text) in LINES.iter().zip(lines) {
        scope.scalars.insert((*name).to_owned(), ScriptValue::from(text));
    }
    template.run(scope).map_err(|source| MakeError::Script { option, source })?;
    let lines =
        LINES.map(|name| scope.scalars.get(name).map(ScriptValue::string).unwrap_or_default());
    let is_good = scope.scalars.remove("if_ok");
    *scope = saved;
    scope.scalars.extend(is_good.map(|value| ("if_ok".to_owned(), value)));
    Ok(lines)
}

/// Variables of a host.
fn scope(asked: &DeviceRequest, device: &MadeDevice, folder: &str) -> Scope {
    let mut scope = Scope::default();
    for (name, text) in [
        ("router_name", asked.full_name()),
        ("router_connect", asked.connection()),
        ("directory_name", folder.to_owned()),
        ("syscontact", device.contact.clone()),
        ("syslocation", device.location.clone()),
        ("sysdescr", device.description.clone()),
        ("sysname", device.name.clone()),
        ("html_syscontact", html_escape(&device.contact)),
        ("html_syslocation", html_escape(&device.location)),
        ("html_sysdescr", html_escape(&device.description_lines.join("\n")).replace('\n', "")),
        ("comment_sysdescr", device.description_lines.join(COMMENT_BREAK)),
        ("community", asked.community.clone()),
    ] {
        scope.scalars.insert(name.to_owned(), ScriptValue::from(text));
    }
    let hash = [
        ("sysDescr", &device.description),
        ("sysObjectID", &device.object_id),
        ("sysContact", &device.contact),
        ("sysName", &device.name),
        ("sysLocation", &device.location),
        ("Vendor", &device.maker),
    ];
    let hash = hash.map(|(key, text)| (key.to_owned(), ScriptValue::from(text.clone())));
    scope.hashes.insert("router_dev".to_owned(), hash.into_iter().collect());
    let rules = &asked.rules;
    let options = [
        ("subdirs", rules.subfolders.clone()),
        ("ifref", rules.interface_reference.clone()),
        ("ifdesc", rules.interface_description.clone()),
        ("no-down", rules.ignores_state.then(|| "1".to_owned())),
        ("show-op-down", rules.ignores_operational_state.then(|| "1".to_owned())),
        ("zero-speed", rules.zero_speed.map(|speed| speed.to_string())),
    ];
    let options = options
        .into_iter()
        .filter_map(|(key, text)| text.map(|text| (key.to_owned(), ScriptValue::from(text))));
    scope.hashes.insert("router_opt".to_owned(), options.collect());
    scope
}

/// A device's name as that of a folder, from which no other one is reached.
fn folder_name(name: &str) -> String {
    let is_other = |c: char| {
        matches!(c, '/' | ':' | '?' | '#' | '%' | '*') || !is_whole(c.encode_utf8(&mut [0; 4]))
    };
    let name = name.replace(is_other, "_");
    match name.trim_start_matches('.') {
        rest if rest.len() < name.len() => format!("_{rest}"),
        _ => name,
    }
}

/// Lines that do not count.
fn commented_out(text: &str) -> String {
    text.split_inclusive('\n').map(|line| format!("# {line}")).collect()
}
