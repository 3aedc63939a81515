//! Devices whose texts have commands, markup and keywords in them: configurations, pages and indexes
//! made of them are read as their readers do, and nothing but the targets is in them.

use std::path::Path;
use std::process::Command;

use poll::index::{IndexRequest, IndexSection, index};
use poll::make::{DeviceRequest, MakeRequest, SnmpAgent, configuration, facts};
use poll::pages::{PageFacts, page};
use poll::script::Script;
use poll::{Config, InterfaceSelector, LoadEnvironment, Query, VariableSource};
use snmp::{DeviceSettings, Security, Version};
use snmp_simulator::{AgentThread, hostile_switch};
use text::byte_text;

use crate::common::now_ns;

const DEVICES: u32 = 100;
const INTERFACES: u32 = 3;

const TEMPLATE: &str = r##"
$target_lines = $default_target_lines . "# $if_snmp_descr $if_snmp_alias $sysname $syslocation\n"
    . "# $sysdescr $html_sysdescr $html_if_description $if_title $if_dns_name $if_vlan_id\n";
"##;

/// The configuration of a device.
fn made(agents: &AgentThread, number: u32, change: impl FnOnce(&mut DeviceRequest)) -> String {
    let address = agents.address(number);
    let device = format!("secret@{address}:2:::2");
    let mut request = DeviceRequest::new(&device, "secret", None, "");
    request.rules.is_without_names = true;
    change(&mut request);
    let security = Security::Community { version: Version::V2c, community: b"public".to_vec() };
    let mut settings = DeviceSettings::new(address, security);
    settings.timeout_ns = 100_000_000_000;
    let mut reader = SnmpAgent::open(settings, true, now_ns).expect("a socket");
    let device = facts(&mut reader, &request, &|_| Some("<b>name".to_owned())).expect("facts");
    configuration(&MakeRequest::default(), &[(request, device)]).expect("text")
}

/// Keywords of a made configuration; any other comes from a device.
const KEYWORDS: [&str; 8] = [
    "workdir",
    "enableipv6",
    "target[",
    "setenv[",
    "directory[",
    "maxbytes[",
    "title[",
    "pagetop[",
];

fn assert_lines_are_ours(text: &str, case: &str) {
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let is_known = KEYWORDS.iter().any(|word| line.to_lowercase().starts_with(word));
        let is_of_page = line.starts_with("\t\t");
        assert!(is_known || is_of_page, "{case}: {line}");
        assert!(!line.contains('`'), "{case}: {line}");
        assert!(line.len() < 10_000 && !line.contains(|c: char| c.is_control() && c != '\t'));
    }
}

fn load(text: &str, folder: &Path) -> Config {
    let path = folder.join("mrtg.cfg");
    let text = text.replace("/var/www/html/mrtg", &folder.display().to_string());
    std::fs::write(&path, byte_text::encode(&text)).unwrap();
    let loading = Config::load(&path, &LoadEnvironment::default());
    loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems))
}

/// Whether a folder is one below that of the site, and no address of another kind.
fn is_below(folder: &str) -> bool {
    folder.split('/').all(|part| part != "..") && !folder.starts_with('/') && !folder.contains(':')
}

#[test]
fn texts_of_devices_stay_texts() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let agents = crate::common::start(DEVICES, INTERFACES, |number, device| {
        *device = hostile_switch(number, INTERFACES, &mark.display().to_string());
    });
    let template = Script::parse(TEMPLATE).expect("a template");
    let mut files = Vec::new();
    for number in 0..DEVICES {
        let text = made(&agents, number, |request| {
            let ways = ["name", "descr", "name,descr"];
            request.rules.interface_reference = Some(format!("{},nr", ways[number as usize % 3]));
            request.rules.interface_description = Some("alias,descr,name".to_owned());
            request.rules.subfolders = (number % 4 == 0).then(|| "SNMPNAME".to_owned());
            request.rules.template = (number % 2 == 0).then(|| template.clone());
        });
        let case = format!("device {number}\n{text}");
        assert_lines_are_ours(&text, &case);
        let config = load(&text, folder.path());
        assert_eq!(config.targets.len(), INTERFACES as usize, "{case}");
        assert!(config.targets.iter().all(|target| is_below(&target.directory)), "{case}");
        for query in &config.queries {
            let Query::Snmp(query) = query else { panic!("{case}: {query:?}") };
            assert!(!query.text.contains("secret"), "{}", query.text);
            for variable in query.variables.iter() {
                let is_object = matches!(variable.source, VariableSource::Object { .. });
                assert!(is_object && variable.interface != InterfaceSelector::None, "{case}");
            }
        }
        let at = |kind: &str| folder.path().join(format!("{number}-{kind}.html"));
        let facts = PageFacts {
            now_s: 1_700_000_000,
            time_zone: &jiff::tz::TimeZone::UTC,
            uptime: Some("<script>"),
            device_name: Some("<script>"),
            summaries: [None; 4],
        };
        std::fs::write(at("page"), page(&config.global, &config.targets[0], &facts)).unwrap();
        files.push(at("page"));
        let configs = [("mrtg.cfg".to_owned(), config)];
        for section in [IndexSection::Heading, IndexSection::Description, IndexSection::Name] {
            let request = IndexRequest { section, ..IndexRequest::default() };
            let path = at(&format!("{section:?}"));
            std::fs::write(&path, index(&request, &configs).expect("an index")).unwrap();
            files.push(path);
        }
        if number % 10 == 0 && testkit::is_installed("hostile texts for mrtg", "mrtg") {
            let mut mrtg = Command::new("mrtg");
            mrtg.arg("--check").arg(folder.path().join("mrtg.cfg"));
            let output = mrtg.env("LANG", "C").env("LC_ALL", "C").output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    testkit::assert_plain_html(&files);
    assert!(!mark.exists(), "a device ran a command");
}
