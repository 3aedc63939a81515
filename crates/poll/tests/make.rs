//! Configurations made of a real agent beside those of `cfgmaker`: the same lines but for comments
//! on what the file is.

use std::process::Command;
use std::time::Instant;

use poll::make::{
    AgentReader, AgentValue, DeviceRequest, MakeRequest, MakeRules, SnmpAgent, configuration, facts,
};
use poll::script::Script;
use snmp::{DeviceSettings, Security, Version};
use snmp_simulator::{AgentThread, Mib, MibValue};
use testkit::Snmpd;

const AGENT: &str = "sysLocation Room <1> & two\nsysContact \"Admin <a@example.org>\"\n\
                     sysName box.example.org\nsysDescr A router\n";

fn clock() -> u64 {
    static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

fn without_head(text: &str) -> String {
    let from = text.find("EnableIPv6:").unwrap_or(0);
    text[from..].to_owned()
}

fn cfgmaker(arguments: &[&str], device: &str) -> String {
    let output = Command::new("cfgmaker")
        .args(arguments)
        .arg(device)
        .env("LANG", "C")
        .output()
        .expect("cfgmaker");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn made(agent: &Snmpd, request: &DeviceRequest) -> String {
    let version = if request.has_version_2() { Version::V2c } else { Version::V1 };
    let community = request.community.clone().into_bytes();
    let security = Security::Community { version, community };
    let settings = DeviceSettings::new(agent.address(), security);
    let mut reader = SnmpAgent::open(settings, request.has_version_2(), clock).expect("a socket");
    let device = facts(&mut reader, request, &|_| None).expect("facts");
    configuration(&MakeRequest::default(), &[(request.clone(), device)]).expect("text")
}

fn assert_equal(ours: &str, theirs: &str, case: &str) {
    let (ours, theirs) = (without_head(ours), without_head(theirs));
    let different = ours.lines().zip(theirs.lines()).enumerate().find(|(_, (a, b))| a != b);
    assert_eq!(different, None, "{case}: line, ours, theirs");
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{case}");
}

#[test]
fn configurations_have_the_lines_of_cfgmaker() {
    if !testkit::is_installed("configurations beside cfgmaker", "cfgmaker") {
        return;
    }
    let Some(agent) = Snmpd::start(AGENT) else { return };
    let port = agent.address().port();
    type Change = fn(&mut MakeRules);
    let all: [(&[&str], &str, Change); 15] = [
        (&[], ":2", |_| {}),
        (&[], "", |_| {}),
        (&["--ifref=nr", "--ifdesc=nr"], ":2", |rules| {
            rules.interface_reference = Some("nr".to_owned());
            rules.interface_description = Some("nr".to_owned());
        }),
        (&["--ifref=ip,descr", "--ifdesc=descr,ip"], ":2", |rules| {
            rules.interface_reference = Some("ip,descr".to_owned());
            rules.interface_description = Some("descr,ip".to_owned());
        }),
        (&["--ifref=eth", "--ifdesc=eth"], ":2", |rules| {
            rules.interface_reference = Some("eth".to_owned());
            rules.interface_description = Some("eth".to_owned());
        }),
        (&["--ifref=name", "--ifdesc=name"], "", |rules| {
            rules.interface_reference = Some("name".to_owned());
            rules.interface_description = Some("name".to_owned());
        }),
        (&["--ifref=type", "--ifdesc=type,alias"], ":2", |rules| {
            rules.interface_reference = Some("type".to_owned());
            rules.interface_description = Some("type,alias".to_owned());
        }),
        (&["--no-down"], ":2", |rules| rules.ignores_state = true),
        (&["--show-op-down"], ":2", |rules| rules.ignores_operational_state = true),
        (&["--zero-speed=1000000"], ":2", |rules| rules.zero_speed = Some(1_000_000)),
        (&["--subdirs=HOSTNAME__SNMPNAME"], ":2", |rules| {
            rules.subfolders = Some("HOSTNAME__SNMPNAME".to_owned());
        }),
        (&["--nointerfaces"], ":2", |rules| rules.is_without_interfaces = true),
        (&["--if-filter=$if_is_loopback || $if_ip =~ /^127/"], ":2", |rules| {
            let filter = Script::parse("$if_is_loopback || $if_ip =~ /^127/");
            rules.filter = Some(filter.expect("a filter"));
        }),
        (&["--if-filter=$default && ($if_is_ethernet or $if_admin)"], ":2", |rules| {
            let filter = Script::parse("$default && ($if_is_ethernet or $if_admin)");
            rules.filter = Some(filter.expect("a filter"));
        }),
        (&["--global=Options[_]: bits, growright"], ":2", |rules| rules.is_bits = true),
    ];
    for (arguments, version, change) in all {
        // Without a space: `cfgmaker` gives the connection options to its target as they are.
        let options =
            if version.is_empty() { String::new() } else { format!("::::{}", &version[1..]) };
        let device = format!("public@127.0.0.1:{port}{options}");
        let mut request = DeviceRequest::new(&device, "public", None, "");
        request.rules.is_without_names = true;
        change(&mut request.rules);
        let global = arguments.iter().filter_map(|one| one.strip_prefix("--global="));
        request.global_lines = global.map(str::to_owned).collect();
        let arguments = [&["--noreversedns"], arguments].concat();
        let (theirs, ours) = (cfgmaker(&arguments, &device), made(&agent, &request));
        assert_equal(&ours, &theirs, &format!("{arguments:?} {device}"));
    }
}

const TEMPLATE: &str = r###"
# Which interfaces get lines, and which.
my $kind = $if_is_loopback ? 'loop' : 'wire';
if ($if_snmp_name =~ /^lo/i) {
    $problem_lines = '';
    $if_ok = 1;
    $target_lines .= <<ECHO;

Target[${target_name}_$kind]: $if_ref:$router_connect
Title[${target_name}_$kind]: $html_if_title_desc of $$router_dev{sysName} \@ $syslocation
MaxBytes[${target_name}_$kind]: $if_speed
ECHO
} elsif ($if_index > 1 and not $if_is_dialup) {
    $head_lines = "## other: " . uc($if_snmp_name) . "\n";
    $target_lines = $default_target_lines;
}
"###;

const HOST_TEMPLATE: &str = r###"
$head_lines .= "# host of " . lc($router_name) . "\n";
my $target_name = $router_name . ".cpu";
$target_lines .= <<ECHO unless $sysname eq '';

YLegend[$target_name]: Percentage CPU load
Target[$target_name]: 1.3.6.1.4.1.2021.11.50.0&1.3.6.1.4.1.2021.11.50.0:$router_connect
PageTop[$target_name]: <h1>$router_name CPU -- $html_sysdescr</h1>
ECHO
"###;

#[test]
fn templates_make_the_lines_of_cfgmaker() {
    if !testkit::is_installed("configurations beside cfgmaker", "cfgmaker") {
        return;
    }
    let Some(agent) = Snmpd::start(AGENT) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("if"), TEMPLATE).expect("written");
    std::fs::write(path("host"), HOST_TEMPLATE).expect("written");
    let device = format!("public@127.0.0.1:{}::::2", agent.address().port());
    let mut request = DeviceRequest::new(&device, "public", None, "");
    request.rules.is_without_names = true;
    request.rules.template = Some(Script::parse(TEMPLATE).expect("a template"));
    request.rules.host_template = Some(Script::parse(HOST_TEMPLATE).expect("a template"));
    let (one, two) =
        (format!("--if-template={}", path("if")), format!("--host-template={}", path("host")));
    let theirs = cfgmaker(&["--noreversedns", &one, &two], &device);
    assert_equal(&made(&agent, &request), &theirs, "templates");
}

/// A device some of whose columns are never answered.
struct LossyAgent {
    agent: SnmpAgent,
    lost: Vec<&'static [u32]>,
}

impl LossyAgent {
    fn is_lost(&self, object: &[u32]) -> bool {
        self.lost.iter().any(|column| object.starts_with(column))
    }
}

impl AgentReader for LossyAgent {
    fn walk(&mut self, below: &[u32]) -> Result<Vec<(Vec<u32>, AgentValue)>, String> {
        match self.is_lost(below) {
            true => Err("no answer to 5 requests".to_owned()),
            false => self.agent.walk(below),
        }
    }

    fn get(&mut self, object: &[u32]) -> Result<Option<AgentValue>, String> {
        match self.is_lost(object) {
            true => Err("no answer to 5 requests".to_owned()),
            false => self.agent.get(object),
        }
    }
}

/// The configuration of a simulated switch with some objects left out or changed, and some columns
/// never answered.
fn made_of(agents: &AgentThread, lost: &[&'static [u32]]) -> String {
    let address = agents.address(0);
    let device = format!("public@{}:{}::::2", address.ip(), address.port());
    let mut request = DeviceRequest::new(&device, "public", None, "");
    request.rules.is_without_names = true;
    let security = Security::Community { version: Version::V2c, community: b"public".to_vec() };
    let settings = DeviceSettings::new(address, security);
    let agent = SnmpAgent::open(settings, true, clock).expect("a socket");
    let mut reader = LossyAgent { agent, lost: lost.to_vec() };
    let device = facts(&mut reader, &request, &|_| None).expect("facts");
    configuration(&MakeRequest::default(), &[(request, device)]).expect("text")
}

fn targets(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("Target[")).count()
}

#[test]
fn a_column_that_is_not_answered_is_not_known() {
    const IF_TYPE: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 3];
    const IF_SPEED: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 5];
    const ADMIN_STATUS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 7];
    const OPER_STATUS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 8];
    const IN_OCTETS_64: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6];
    const ALIAS: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1];
    let agents = crate::common::start(1, 3, |_, _| {});
    assert_eq!(targets(&made_of(&agents, &[])), 3);
    for (lost, name) in [
        (IF_TYPE, "ifType"),
        (IF_SPEED, "ifSpeed"),
        (ADMIN_STATUS, "ifAdminStatus"),
        (OPER_STATUS, "ifOperStatus"),
    ] {
        let text = made_of(&agents, &[lost]);
        assert_eq!(targets(&text), 0, "{text}");
        let why = format!("### * its {name} is not known: no answer to 5 requests\n");
        assert_eq!(text.matches(&why).count(), 3, "{text}");
        let head = format!("# Not answered: {name}: no answer to 5 requests\n");
        assert!(text.contains(&head), "{text}");
    }
    // Counters of 64 bits that are not answered are not missing.
    let text = made_of(&agents, &[IN_OCTETS_64]);
    assert_eq!((targets(&text), text.matches("noHC").count()), (0, 0), "{text}");
    // Another name is found for what is only named by the column.
    let text = made_of(&agents, &[ALIAS]);
    assert_eq!(targets(&text), 3, "{text}");
    assert!(text.contains("# Not answered: ifName: "), "{text}");
}

#[test]
fn the_largest_speed_says_that_there_is_another() {
    const HIGH_SPEED: [u32; 11] = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 15];
    const SPEED: [u32; 10] = [1, 3, 6, 1, 2, 1, 2, 2, 1, 5];
    let changed = |has_high_speed: bool| {
        crate::common::start(1, 3, move |_, device| {
            let objects = Mib::with_interfaces("switch", 3);
            let numbers = |one: &snmp_simulator::MibObject| -> Vec<u32> {
                one.oid.as_ref().sub_identifiers().collect()
            };
            let objects = objects.objects().iter().cloned();
            let is_kept = |one: &snmp_simulator::MibObject| {
                has_high_speed || !numbers(one).starts_with(&HIGH_SPEED)
            };
            let objects = objects.filter(is_kept).map(|mut one| {
                if numbers(&one).starts_with(&SPEED) {
                    one.value = MibValue::Gauge32(u32::MAX);
                }
                one
            });
            device.mib = std::sync::Arc::new(Mib::new(objects.collect()));
        })
    };
    let with = made_of(&changed(true), &[]);
    assert_eq!(with.matches("\nMaxBytes[127.1.0.1_port").count(), 3, "{with}");
    assert_eq!(with.matches(": 125000000\n").count(), 3, "{with}");
    let agents = changed(false);
    let without = made_of(&agents, &[]);
    assert!(targets(&without) == 0 && !without.contains("536870911"), "{without}");
    assert_eq!(without.matches("### * has no ifSpeed property").count(), 3, "{without}");
    if testkit::is_installed("speeds beside cfgmaker", "cfgmaker") {
        let device = format!("public@127.1.0.1:{}::::2", agents.address(0).port());
        let theirs = cfgmaker(&["--noreversedns"], &device);
        assert!(targets(&theirs) == 0 && !theirs.contains("536870911"), "{theirs}");
    }
}
