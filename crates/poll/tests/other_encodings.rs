//! Configurations and devices whose text is not UTF-8, or only in part: what is a name keeps its
//! bytes, and pages are UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use poll::ask::MergingAsker;
use poll::make::{DeviceRequest, MakeRequest, SnmpAgent, configuration, facts};
use poll::round::{RoundSettings, Rounds};
use poll::{Config, LoadEnvironment};
use snmp::{DeviceSettings, Security, Version};
use snmp_simulator::{AgentThread, Mib, MibValue};
use text::byte_text;

use crate::common::now_ns;

/// `ifName` of the second interface, `tür` in ISO 8859-1.
const NAME: &[u8] = b"t\xfcr";
const COMMUNITY: &[u8] = b"p\xfcblic";

fn agent() -> AgentThread {
    crate::common::start(1, 2, |_, device| {
        let mut objects = device.mib.objects().to_vec();
        for one in &mut objects {
            let numbers: Vec<u32> = one.oid.as_ref().sub_identifiers().collect();
            if numbers == [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1, 2] {
                one.value = MibValue::Octets(NAME.to_vec());
            }
            if numbers == [1, 3, 6, 1, 2, 1, 1, 6, 0] {
                one.value = MibValue::Octets(b"K\xf6ln, C1: \x9b31m".to_vec());
            }
        }
        device.mib = Arc::new(Mib::new(objects));
        device.community = COMMUNITY.to_vec();
    })
}

#[test]
fn names_keep_their_bytes() {
    let agent = agent();
    let folder = tempfile::tempdir().unwrap();
    let address = agent.address(0);
    let text = [
        format!("WorkDir: {}\n", folder.path().display()).as_bytes(),
        b"Title[_]: caf\xe9 \xc3\xa9\nMaxBytes[_]: 1000000\nPageTop[_]: <h1>caf\xe9</h1>\n",
        b"Target[s\xfcd]: #",
        NAME,
        b":",
        COMMUNITY,
        format!("@{address}::::2\n").as_bytes(),
        b"Options[ost]: gauge\nTarget[ost]: `printf b\xfcro > ",
        folder.path().join("printed").as_os_str().as_bytes(),
        b"; echo 7; echo 8`\n",
    ]
    .concat();
    let path = folder.path().join("a.cfg");
    std::fs::write(&path, text).unwrap();
    let loading = Config::load(&path, &LoadEnvironment::default());
    let config = loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems));
    let mut rounds = Rounds::new(RoundSettings {
        environment: vec![b"PATH=/usr/bin:/bin".to_vec()],
        config_name: "a.cfg".into(),
        is_log_only: false,
        time_zone: jiff::tz::TimeZone::UTC,
        own_name: "box".into(),
    });
    let mut asker = MergingAsker::new(1, now_ns);
    let mut said = Vec::new();
    let wall_ns = || 1_700_000_000_000_000_000;
    let report = rounds.round(&config, &mut asker, &wall_ns, &mut |line| said.push(line));
    assert_eq!((report.known_count, report.failed_count), (2, 0), "{said:?}");
    assert_eq!(std::fs::read(folder.path().join("printed")).unwrap(), b"b\xfcro");
    let file = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
    for name in [&b"s\xfcd.log"[..], b"s\xfcd-day.png", b"ost.log"] {
        assert!(file(name).exists(), "{}", file(name).display());
    }
    let page = String::from_utf8(std::fs::read(file(b"s\xfcd.html")).unwrap()).expect("UTF-8");
    assert!(page.contains("<title>café é</title>") && page.contains("<h1>café</h1>"), "{page}");
    assert!(page.contains("src=\"s%FCd-day.png\""), "{page}");
}

#[test]
fn a_made_configuration_names_interfaces_by_their_bytes() {
    let agent = agent();
    let address = agent.address(0);
    let community = byte_text::decode(COMMUNITY.to_vec());
    let device = format!("{community}@{address}::::2");
    let mut request = DeviceRequest::new(&device, "public", None, "");
    request.rules.is_without_names = true;
    request.rules.interface_reference = Some("name".to_owned());
    let security = Security::Community { version: Version::V2c, community: COMMUNITY.to_vec() };
    let settings = DeviceSettings::new(address, security);
    let mut reader = SnmpAgent::open(settings, true, now_ns).expect("a socket");
    let device = facts(&mut reader, &request, &|_| None).expect("facts");
    let text = configuration(&MakeRequest::default(), &[(request, device)]).expect("text");
    let bytes = byte_text::encode(&text);
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(has(&[b"]: #", NAME, b":", COMMUNITY, b"@"].concat()), "{text}");
    // What ISO 8859-1 has for the control of terminals is replaced.
    assert!(has(b"K\xf6ln, C1: \xef\xbf\xbd31m") && !has(b"\x9b"), "{text}");
}
