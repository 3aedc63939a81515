//! `whit poll make`: asks devices what they are, and writes a configuration that polls them.
//!
//! Options hold for the devices after them, as cfgmaker's do, so their places on the command line
//! matter.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, FromArgMatches};
use poll::make::{
    DeviceRequest, MakeRequest, MakeRules, ReverseNames, SnmpAgent, configuration, facts,
};
use poll::script::Script;

/// Options of `whit poll make`.
#[derive(Args)]
struct MakeOptions {
    /// Devices: [COMMUNITY@]HOST[:PORT[:TIMEOUT[:RETRIES[:BACKOFF[:VERSION]]]]]
    #[arg(value_name = "DEVICE", required = true)]
    devices: Vec<String>,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How targets name interfaces: nr, ip, eth, descr, name or type; of several the first that an
    /// interface has for itself
    #[arg(long, value_name = "WAY,...")]
    ifref: Vec<String>,
    /// What titles call interfaces: nr, ip, eth, descr, name, alias, catname, ppname or type
    #[arg(long, value_name = "WAY,...")]
    ifdesc: Vec<String>,
    /// Which interfaces are polled: an expression in a part of Perl ($if_is_ethernet && ...)
    #[arg(long, value_name = "EXPRESSION")]
    if_filter: Vec<String>,
    /// Lines of each interface: a script in a part of Perl that sets $target_lines
    #[arg(long, value_name = "FILE")]
    if_template: Vec<PathBuf>,
    /// Lines of each device: a script in a part of Perl that sets $target_lines
    #[arg(long, value_name = "FILE")]
    host_template: Vec<PathBuf>,
    /// A line of the configuration for all targets, before the devices after it
    #[arg(long, value_name = "LINE")]
    global: Vec<String>,
    /// No WorkDir and no comments at the top
    #[arg(long, alias = "no-default-global")]
    nodefaultglobal: bool,
    /// Poll interfaces that are down, too
    #[arg(long, action = ArgAction::Count)]
    no_down: u8,
    /// Poll interfaces that are operationally down, too
    #[arg(long, action = ArgAction::Count)]
    show_op_down: u8,
    /// Bits per second of interfaces that tell no speed
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u64))]
    zero_speed: Vec<u64>,
    /// The folder of each target; HOSTNAME and SNMPNAME in it are replaced
    #[arg(long, value_name = "FOLDER")]
    subdirs: Vec<String>,
    /// Do not look up names of addresses
    #[arg(long, action = ArgAction::Count)]
    noreversedns: u8,
    /// No targets for interfaces: only what the host template says
    #[arg(long, alias = "no-interfaces", action = ArgAction::Count)]
    nointerfaces: u8,
    /// Targets for interfaces again, after --nointerfaces
    #[arg(long, action = ArgAction::Count)]
    interfaces: u8,
    /// The community of devices that name none
    #[arg(long, value_name = "COMMUNITY", default_value = "public")]
    community: Vec<String>,
    /// What devices have that do not say it: :PORT:TIMEOUT:RETRIES:BACKOFF:VERSION
    #[arg(long, value_name = "OPTIONS")]
    snmp_options: Vec<String>,
    /// A domain that is put after each host
    #[arg(long, value_name = "DOMAIN")]
    dns_domain: Vec<String>,
    /// Devices may have IPv6 addresses
    #[arg(long)]
    enable_ipv6: bool,
    /// Version 3 may be used; a user says so too
    #[arg(long)]
    enablesnmpv3: bool,
    /// Request ids of 16 bits, for agents that cut them
    #[arg(long)]
    use_16bit: bool,
    /// The user of version 3
    #[arg(long, value_name = "USER")]
    username: Option<String>,
    /// The password of authentication
    #[arg(long, value_name = "PASSWORD")]
    authpassword: Option<String>,
    /// The key of authentication, in hexadecimal digits
    #[arg(long, value_name = "KEY")]
    authkey: Option<String>,
    /// md5, sha, sha224, sha256, sha384 or sha512
    #[arg(long, value_name = "PROTOCOL")]
    authprotocol: Option<String>,
    /// The password of privacy
    #[arg(long, value_name = "PASSWORD")]
    privpassword: Option<String>,
    /// The key of privacy, in hexadecimal digits
    #[arg(long, value_name = "KEY")]
    privkey: Option<String>,
    /// des, 3des, aes, aes192 or aes256
    #[arg(long, value_name = "PROTOCOL")]
    privprotocol: Option<String>,
    /// The engine that has the objects, in hexadecimal digits
    #[arg(long, value_name = "ID")]
    contextengineid: Option<String>,
    /// The context of the objects
    #[arg(long, value_name = "NAME")]
    contextname: Option<String>,
}

/// Options, and for each device those that stand before it.
pub(crate) struct MakeArguments {
    options: MakeOptions,
    plans: Vec<DevicePlan>,
    /// Global lines after the last device.
    last_lines: Vec<String>,
}

/// What holds for one device.
#[derive(Default)]
struct DevicePlan {
    text: String,
    community: String,
    snmp_options: Option<String>,
    domain: String,
    ifref: Option<String>,
    ifdesc: Option<String>,
    filter: Option<String>,
    template: Option<PathBuf>,
    host_template: Option<PathBuf>,
    subfolders: Option<String>,
    zero_speed: Option<u64>,
    ignores_state: bool,
    ignores_operational_state: bool,
    is_without_names: bool,
    is_without_interfaces: bool,
    lines: Vec<String>,
    is_bits: bool,
}

impl Args for MakeArguments {
    fn augment_args(command: clap::Command) -> clap::Command {
        MakeOptions::augment_args(command).after_help(crate::help::POLL_MAKE)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for MakeArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let options = MakeOptions::from_arg_matches(matches)?;
        let at = OccurrenceIndices { matches };
        let mut plans = Vec::new();
        let mut previous = 0;
        for (place, text) in at.all::<String>("devices") {
            let last = |id: &str| at.last::<String>(id, place);
            let has = |id: &str| at.flag(id, place).is_some();
            plans.push(DevicePlan {
                text,
                community: last("community").unwrap_or_else(|| "public".to_owned()),
                snmp_options: last("snmp_options"),
                domain: last("dns_domain").unwrap_or_default(),
                ifref: last("ifref"),
                ifdesc: last("ifdesc"),
                filter: last("if_filter"),
                template: at.last("if_template", place),
                host_template: at.last("host_template", place),
                subfolders: last("subdirs"),
                zero_speed: at.last("zero_speed", place),
                ignores_state: has("no_down"),
                ignores_operational_state: has("show_op_down"),
                is_without_names: has("noreversedns"),
                is_without_interfaces: at.flag("nointerfaces", place)
                    > at.flag("interfaces", place),
                lines: at.between("global", previous, place),
                is_bits: is_bits(&at.between("global", 0, place)),
            });
            previous = place;
        }
        let last_lines = at.between("global", previous, usize::MAX);
        Ok(Self { options, plans, last_lines })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Values by their places on the command line.
struct OccurrenceIndices<'a> {
    matches: &'a ArgMatches,
}

impl OccurrenceIndices<'_> {
    fn all<T: Clone + Send + Sync + 'static>(&self, id: &str) -> Vec<(usize, T)> {
        if self.matches.value_source(id) != Some(ValueSource::CommandLine) {
            return Vec::new();
        }
        let values = self.matches.get_many::<T>(id).into_iter().flatten().cloned();
        self.matches.indices_of(id).into_iter().flatten().zip(values).collect()
    }

    fn last<T: Clone + Send + Sync + 'static>(&self, id: &str, before: usize) -> Option<T> {
        self.all(id).into_iter().rev().find(|(place, _)| *place < before).map(|(_, value)| value)
    }

    fn between(&self, id: &str, from: usize, before: usize) -> Vec<String> {
        let all = self.all::<String>(id).into_iter();
        all.filter(|(place, _)| (from..before).contains(place)).map(|(_, line)| line).collect()
    }

    /// The place of a flag.
    fn flag(&self, id: &str, before: usize) -> Option<usize> {
        if self.matches.value_source(id) != Some(ValueSource::CommandLine) {
            return None;
        }
        self.matches.indices_of(id)?.filter(|place| *place < before).max()
    }
}

/// Whether `Options[_]`, `[^]` and `[$]` of global lines say `bits`.
fn is_bits(lines: &[String]) -> bool {
    let mut default: Vec<String> = Vec::new();
    let mut own: [Vec<String>; 2] = Default::default();
    for line in lines {
        let Some((key, value)) = line.split_once("]:") else { continue };
        let words = match key.to_ascii_lowercase().as_str() {
            "options[_" => &mut default,
            "options[^" => &mut own[0],
            "options[$" => &mut own[1],
            _ => continue,
        };
        match value.trim().is_empty() {
            true => words.clear(),
            false => words.extend(value.split(',').map(|word| word.trim().to_owned())),
        }
    }
    let own = own.concat();
    let counts = if own.is_empty() { default } else { own };
    counts.iter().any(|word| word == "bits")
}

/// Runs the verb.
pub(crate) fn run(arguments: &MakeArguments) -> anyhow::Result<ExitCode> {
    let options = &arguments.options;
    let names = ReverseNames::read();
    let mut devices = Vec::new();
    for plan in &arguments.plans {
        let request = plan.request(options)?;
        let mut settings = request.settings(options.enable_ipv6)?;
        settings.has_16_bit_request_ids = options.use_16bit;
        let mut agent = SnmpAgent::open(settings, request.has_version_2(), monotonic_ns)
            .context("cannot open a socket")?;
        match facts(&mut agent, &request, &|address| names.of(address)) {
            Ok(device) => devices.push((request, device)),
            Err(error) => crate::stderr::line(format!("WARNING: skipping {error}")),
        }
    }
    let lost = devices.iter().filter_map(|(request, device)| device.lost_warning(request));
    lost.for_each(crate::stderr::line);
    if devices.is_empty() {
        bail!("no device answers");
    }
    let mut last_lines = arguments.last_lines.clone();
    if options.enablesnmpv3 || options.username.is_some() {
        last_lines.push("enablesnmpv3: yes".to_owned());
    }
    let request = MakeRequest {
        command_line: super::command_line("whit poll make"),
        is_without_default_globals: options.nodefaultglobal,
        has_ipv6: options.enable_ipv6,
        last_lines,
    };
    let text = configuration(&request, &devices)?;
    super::write_text(options.output.as_deref(), &text, super::Readers::Owner)?;
    Ok(ExitCode::SUCCESS)
}

impl DevicePlan {
    fn request(&self, options: &MakeOptions) -> anyhow::Result<DeviceRequest> {
        let snmp_options = self.snmp_options.as_deref();
        let mut request =
            DeviceRequest::new(&self.text, &self.community, snmp_options, &self.domain);
        request.global_lines.clone_from(&self.lines);
        let security = [
            ("username", &options.username),
            ("authpassword", &options.authpassword),
            ("authkey", &options.authkey),
            ("authprotocol", &options.authprotocol),
            ("privpassword", &options.privpassword),
            ("privkey", &options.privkey),
            ("privprotocol", &options.privprotocol),
            ("contextengineid", &options.contextengineid),
            ("contextname", &options.contextname),
        ];
        let security = security
            .into_iter()
            .filter_map(|(key, value)| value.clone().map(|value| (key.to_owned(), value)));
        request.security = security.collect();
        let script = |path: &Option<PathBuf>| -> anyhow::Result<Option<Script>> {
            let Some(path) = path else { return Ok(None) };
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            Ok(Some(Script::parse(&text).with_context(|| path.display().to_string())?))
        };
        let filter = self.filter.as_deref().map(Script::parse).transpose();
        request.rules = MakeRules {
            interface_reference: self.ifref.clone(),
            interface_description: self.ifdesc.clone(),
            filter: filter.context("--if-filter")?,
            template: script(&self.template)?,
            host_template: script(&self.host_template)?,
            ignores_state: self.ignores_state,
            ignores_operational_state: self.ignores_operational_state,
            zero_speed: self.zero_speed,
            subfolders: self.subfolders.clone(),
            is_without_names: self.is_without_names,
            is_without_interfaces: self.is_without_interfaces,
            is_bits: self.is_bits,
        };
        Ok(request)
    }
}

fn monotonic_ns() -> u64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
