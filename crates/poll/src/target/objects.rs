//! Names of objects: those of MIB-II, interfaces and frame relay, which every configuration may use,
//! and those of the files of `LoadMIBs`.
//!
//! RFC 1213, RFC 2863, RFC 2115; `ifAdminHack` and `ifOperHack` are MRTG's: 1 for up, 0 for anything
//! else.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Object identifiers, and below each the last numbers of names.
const KNOWN: &[(&str, &str)] = &[
    ("", "iso=1"),
    ("1", "org=3"),
    ("1.3", "dod=6"),
    ("1.3.6", "internet=1"),
    ("1.3.6.1", "directory=1 mgmt=2 experimental=3 private=4"),
    ("1.3.6.1.2", "mib-2=1"),
    (
        "1.3.6.1.2.1",
        "system=1 interfaces=2 at=3 ip=4 icmp=5 tcp=6 udp=7 egp=8 transmission=10 snmp=11",
    ),
    (
        "1.3.6.1.2.1.1",
        "sysDescr=1.0 sysObjectID=2.0 sysUpTime=3.0 sysUptime=3.0 sysContact=4.0 sysName=5.0 \
         sysLocation=6.0 sysServices=7.0",
    ),
    ("1.3.6.1.2.1.2", "ifNumber=1.0 ifTable=2"),
    ("1.3.6.1.2.1.2.2", "ifEntry=1"),
    (
        "1.3.6.1.2.1.2.2.1",
        "ifIndex=1 ifDescr=2 ifType=3 ifMtu=4 ifSpeed=5 ifPhysAddress=6 ifAdminHack=7 \
         ifAdminStatus=7 ifOperHack=8 ifOperStatus=8 ifLastChange=9 ifInOctets=10 \
         ifInUcastPkts=11 ifInNUcastPkts=12 ifInDiscards=13 ifInErrors=14 ifInUnknownProtos=15 \
         ifOutOctets=16 ifOutUcastPkts=17 ifOutNUcastPkts=18 ifOutDiscards=19 ifOutErrors=20 \
         ifOutQLen=21 ifSpecific=22",
    ),
    ("1.3.6.1.2.1.3", "atTable=1"),
    ("1.3.6.1.2.1.3.1", "atEntry=1"),
    ("1.3.6.1.2.1.3.1.1", "atIfIndex=1 atPhysAddress=2 atNetAddress=3"),
    (
        "1.3.6.1.2.1.4",
        "ipForwarding=1 ipDefaultTTL=2 ipInReceives=3 ipInHdrErrors=4 ipInAddrErrors=5 \
         ipForwDatagrams=6 ipInUnknownProtos=7 ipInDiscards=8 ipInDelivers=9 ipOutRequests=10 \
         ipOutDiscards=11 ipOutNoRoutes=12 ipReasmTimeout=13 ipReasmReqds=14 ipReasmOKs=15 \
         ipReasmFails=16 ipFragOKs=17 ipFragFails=18 ipFragCreates=19 ipAddrTable=20 \
         ipRouteTable=21 ipNetToMediaTable=22 ipRoutingDiscards=23",
    ),
    ("1.3.6.1.2.1.4.20", "ipAddrEntry=1"),
    (
        "1.3.6.1.2.1.4.20.1",
        "ipAdEntAddr=1 ipAdEntIfIndex=2 ipAdEntNetMask=3 ipAdEntBcastAddr=4 ipAdEntReasmMaxSize=5",
    ),
    ("1.3.6.1.2.1.4.21", "ipRouteEntry=1"),
    (
        "1.3.6.1.2.1.4.21.1",
        "ipRouteDest=1 ipRouteIfIndex=2 ipRouteMetric1=3 ipRouteMetric2=4 ipRouteMetric3=5 \
         ipRouteMetric4=6 ipRouteNextHop=7 ipRouteType=8 ipRouteProto=9 ipRouteAge=10 \
         ipRouteMask=11 ipRouteMetric5=12 ipRouteInfo=13",
    ),
    ("1.3.6.1.2.1.4.22", "ipNetToMediaEntry=1"),
    (
        "1.3.6.1.2.1.4.22.1",
        "ipNetToMediaIfIndex=1 ipNetToMediaPhysAddress=2 ipNetToMediaNetAddress=3 \
         ipNetToMediaType=4",
    ),
    (
        "1.3.6.1.2.1.5",
        "icmpInMsgs=1 icmpInErrors=2 icmpInDestUnreachs=3 icmpInTimeExcds=4 icmpInParmProbs=5 \
         icmpInSrcQuenchs=6 icmpInRedirects=7 icmpInEchos=8 icmpInEchoReps=9 icmpInTimestamps=10 \
         icmpInTimestampReps=11 icmpInAddrMasks=12 icmpInAddrMaskReps=13 icmpOutMsgs=14 \
         icmpOutErrors=15 icmpOutDestUnreachs=16 icmpOutTimeExcds=17 icmpOutParmProbs=18 \
         icmpOutSrcQuenchs=19 icmpOutRedirects=20 icmpOutEchos=21 icmpOutEchoReps=22 \
         icmpOutTimestamps=23 icmpOutTimestampReps=24 icmpOutAddrMasks=25 icmpOutAddrMaskReps=26",
    ),
    (
        "1.3.6.1.2.1.6",
        "tcpRtoAlgorithm=1 tcpRtoMin=2 tcpRtoMax=3 tcpMaxConn=4 tcpActiveOpens=5 \
         tcpPassiveOpens=6 tcpAttemptFails=7 tcpEstabResets=8 tcpCurrEstab=9 tcpInSegs=10 \
         tcpOutSegs=11 tcpRetransSegs=12 tcpConnTable=13 tcpInErrs=14 tcpOutRsts=15",
    ),
    ("1.3.6.1.2.1.6.13", "tcpConnEntry=1"),
    (
        "1.3.6.1.2.1.6.13.1",
        "tcpConnState=1 tcpConnLocalAddress=2 tcpConnLocalPort=3 tcpConnRemAddress=4 \
         tcpConnRemPort=5",
    ),
    ("1.3.6.1.2.1.7", "udpInDatagrams=1 udpNoPorts=2 udpInErrors=3 udpOutDatagrams=4 udpTable=5"),
    ("1.3.6.1.2.1.7.5", "udpEntry=1"),
    ("1.3.6.1.2.1.7.5.1", "udpLocalAddress=1 udpLocalPort=2"),
    (
        "1.3.6.1.2.1.8",
        "egpInMsgs=1 egpInErrors=2 egpOutMsgs=3 egpOutErrors=4 egpNeighTable=5 egpAs=6",
    ),
    ("1.3.6.1.2.1.8.5", "egpNeighEntry=1"),
    (
        "1.3.6.1.2.1.8.5.1",
        "egpNeighState=1 egpNeighAddr=2 egpNeighAs=3 egpNeighInMsgs=4 egpNeighInErrs=5 \
         egpNeighOutMsgs=6 egpNeighOutErrs=7 egpNeighInErrMsgs=8 egpNeighOutErrMsgs=9 \
         egpNeighStateUps=10 egpNeighStateDowns=11 egpNeighIntervalHello=12 \
         egpNeighIntervalPoll=13 egpNeighMode=14 egpNeighEventTrigger=15",
    ),
    ("1.3.6.1.2.1.10", "frame-relay=32"),
    ("1.3.6.1.2.1.10.32", "frDlcmiTable=1 frCircuitTable=2 frErrTable=3 frame-relay-globals=4"),
    ("1.3.6.1.2.1.10.32.1", "frDlcmiEntry=1"),
    (
        "1.3.6.1.2.1.10.32.1.1",
        "frDlcmiIfIndex=1 frDlcmiState=2 frDlcmiAddress=3 frDlcmiAddressLen=4 \
         frDlcmiPollingInterval=5 frDlcmiFullEnquiryInterval=6 frDlcmiErrorThreshold=7 \
         frDlcmiMonitoredEvents=8 frDlcmiMaxSupportedVCs=9 frDlcmiMulticast=10",
    ),
    ("1.3.6.1.2.1.10.32.2", "frCircuitEntry=1"),
    (
        "1.3.6.1.2.1.10.32.2.1",
        "frCircuitIfIndex=1 frCircuitDlci=2 frCircuitState=3 frCircuitReceivedFECNs=4 \
         frCircuitReceivedBECNs=5 frCircuitSentFrames=6 frCircuitSentOctets=7 frOutOctets=7 \
         frCircuitReceivedFrames=8 frCircuitReceivedOctets=9 frInOctets=9 \
         frCircuitCreationTime=10 frCircuitLastTimeChange=11 frCircuitCommittedBurst=12 \
         frCircuitExcessBurst=13 frCircuitThroughput=14",
    ),
    ("1.3.6.1.2.1.10.32.3", "frErrEntry=1"),
    ("1.3.6.1.2.1.10.32.3.1", "frErrIfIndex=1 frErrType=2 frErrData=3 frErrTime=4"),
    ("1.3.6.1.2.1.10.32.4", "frTrapState=1"),
    (
        "1.3.6.1.2.1.11",
        "snmpInPkts=1 snmpOutPkts=2 snmpInBadVersions=3 snmpInBadCommunityNames=4 \
         snmpInBadCommunityUses=5 snmpInASNParseErrs=6 snmpInTooBigs=8 snmpInNoSuchNames=9 \
         snmpInBadValues=10 snmpInReadOnlys=11 snmpInGenErrs=12 snmpInTotalReqVars=13 \
         snmpInTotalSetVars=14 snmpInGetRequests=15 snmpInGetNexts=16 snmpInSetRequests=17 \
         snmpInGetResponses=18 snmpInTraps=19 snmpOutTooBigs=20 snmpOutNoSuchNames=21 \
         snmpOutBadValues=22 snmpOutGenErrs=24 snmpOutGetRequests=25 snmpOutGetNexts=26 \
         snmpOutSetRequests=27 snmpOutGetResponses=28 snmpOutTraps=29 snmpEnableAuthenTraps=30",
    ),
    ("1.3.6.1.2.1.25.1", "hrSystemUptime=1"),
    (
        "1.3.6.1.2.1.31.1.1.1",
        "ifName=1 ifInMulticastPkts=2 ifInBroadcastPkts=3 ifOutMulticastPkts=4 \
         ifOutBroadcastPkts=5 ifHCInOctets=6 ifHCInUcastPkts=7 ifHCInMulticastPkts=8 \
         ifHCInBroadcastPkts=9 ifHCOutOctets=10 ifHCOutUcastPkts=11 ifHCOutMulticastPkts=12 \
         ifHCOutBroadcastPkts=13 ifLinkUpDownTrapEnable=14 ifHighSpeed=15 ifPromiscuousMode=16 \
         ifConnectorPresent=17 ifAlias=18 ifCounterDiscontinuityTime=19",
    ),
    ("1.3.6.1.4", "enterprises=1"),
];

/// Names, and what they stand for.
#[derive(Clone, Debug)]
pub struct ObjectNames {
    ids: HashMap<String, Vec<u32>>,
    /// What targets have named, shared among them.
    named: RefCell<HashMap<Arc<str>, Arc<[u32]>>>,
}

impl Default for ObjectNames {
    fn default() -> Self {
        let mut ids = HashMap::new();
        for (prefix, names) in KNOWN {
            let prefix = numbers(prefix).unwrap_or_default();
            for (name, rest) in names.split_whitespace().filter_map(|word| word.split_once('=')) {
                let rest = numbers(rest).unwrap_or_default();
                ids.insert(name.to_owned(), [prefix.as_slice(), &rest].concat());
            }
        }
        ObjectNames { ids, named: RefCell::default() }
    }
}

/// Longest identifier: what SNMP allows.
const ID_MAX: usize = 128;

/// `1.3.6` or `.1.3.6`; `None` for anything else.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let text = text.strip_prefix('.').unwrap_or(text);
    let is_number = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let words = text.split('.').filter(|word| !word.is_empty() || !text.is_empty());
    let parsed = words.map(|word| Some(word).filter(is_number)?.parse().ok());
    let parsed: Option<Vec<u32>> = parsed.take(ID_MAX + 1).collect();
    parsed.filter(|id| id.len() <= ID_MAX)
}

impl ObjectNames {
    /// The identifier of `1.3.6.1`, `sysUpTime`, `ifInOctets.3`; `None` if the name is not known.
    pub fn id(&self, text: &str) -> Option<Vec<u32>> {
        if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return numbers(text).filter(|id| !id.is_empty());
        }
        let (name, rest) = match text.split_once('.') {
            None => (text, ""),
            Some((name, rest)) => (name, rest),
        };
        let mut id = self.ids.get(name)?.clone();
        id.extend(numbers(rest)?);
        (id.len() <= ID_MAX).then_some(id)
    }

    /// A name and its identifier, which is empty if the name is not known, in the memory of all that
    /// have the same name.
    pub(crate) fn shared(&self, text: &str) -> (Arc<str>, Arc<[u32]>) {
        let mut named = self.named.borrow_mut();
        if let Some((name, id)) = named.get_key_value(text) {
            return (Arc::clone(name), Arc::clone(id));
        }
        let name: Arc<str> = text.into();
        let id: Arc<[u32]> = self.id(text).unwrap_or_default().into();
        named.insert(Arc::clone(&name), Arc::clone(&id));
        (name, id)
    }

    /// Adds the names of a MIB file.  A definition whose parents are not known is left out.
    pub fn load(&mut self, mib: &str) {
        self.named.get_mut().clear();
        let mut pending = definitions(mib);
        // Definitions may come before those of their parents.
        loop {
            let before = pending.len();
            pending.retain(|(name, parts)| match self.resolve(parts) {
                Some(id) => {
                    self.ids.entry(name.clone()).or_insert(id);
                    false
                }
                None => true,
            });
            if pending.is_empty() || pending.len() == before {
                return;
            }
        }
    }

    fn resolve(&self, parts: &[String]) -> Option<Vec<u32>> {
        let mut id = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            // `name(1)` is 1, unless it begins the list and the name is known.
            let (name, number) = match part.split_once('(') {
                Some((name, number)) => (name, number.trim_end_matches(')')),
                None => (part.as_str(), part.as_str()),
            };
            match self.ids.get(name) {
                Some(known) if place == 0 => id.extend(known),
                _ => id.push(number.parse().ok()?),
            }
        }
        (!id.is_empty() && id.len() <= ID_MAX).then_some(id)
    }
}

/// `name OBJECT-TYPE … ::= { parent 1 }` and its kin: names and the words in braces.
fn definitions(mib: &str) -> Vec<(String, Vec<String>)> {
    const MACROS: &[&str] = &[
        "OBJECT-TYPE",
        "OBJECT-IDENTITY",
        "OBJECT-GROUP",
        "MODULE-IDENTITY",
        "MODULE-COMPLIANCE",
        "NOTIFICATION-TYPE",
        "NOTIFICATION-GROUP",
        "IDENTIFIER",
    ];
    let words = words(mib);
    let mut found = Vec::new();
    let mut name: Option<&str> = None;
    let mut index = 0;
    while index < words.len() {
        let word = words[index].as_str();
        if MACROS.contains(&word) {
            let is_pair = word == "IDENTIFIER";
            let before = index.checked_sub(1 + usize::from(is_pair)).map(|at| words[at].as_str());
            let begins = |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase());
            // Within a definition, `SYNTAX OBJECT IDENTIFIER` names a type.
            name = before.filter(begins).or(name);
        } else if word == "::=" && words.get(index + 1).is_some_and(|next| next == "{") {
            let rest = &words[index + 2..];
            let end = rest.iter().take(ID_MAX).position(|word| word == "}");
            if let (Some(name), Some(end)) = (name.take(), end) {
                found.push((name.to_owned(), joined(&rest[..end])));
            }
        }
        index += 1;
    }
    found
}

/// Joins `name ( 1 )` to `name(1)`.
fn joined(words: &[String]) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in words {
        match list.last_mut() {
            Some(last) if is_open || word.starts_with('(') => last.push_str(word),
            _ => list.push(word.clone()),
        }
        is_open = (is_open || word.contains('(')) && !word.contains(')');
    }
    list
}

/// Words of a MIB: without texts in quotes and comments (`--` to the next `--` or the line's end).
fn words(mib: &str) -> Vec<String> {
    let mut plain = String::with_capacity(mib.len());
    let mut is_text = false;
    for line in mib.lines() {
        let mut rest = line;
        while !rest.is_empty() {
            if is_text {
                let Some(end) = rest.find('"') else { break };
                is_text = false;
                rest = &rest[end + 1..];
                plain.push(' ');
                continue;
            }
            let quote = rest.find('"').unwrap_or(rest.len());
            let comment = rest.find("--").unwrap_or(rest.len());
            let end = quote.min(comment);
            plain.push_str(&rest[..end]);
            if comment < quote {
                let after = &rest[comment + 2..];
                rest = after.find("--").map_or("", |end| &after[end + 2..]);
            } else if quote < rest.len() {
                is_text = true;
                rest = &rest[quote + 1..];
            } else {
                break;
            }
        }
        plain.push('\n');
    }
    let spaced = plain.replace('{', " { ").replace('}', " } ").replace("::=", " ::= ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known() {
        let names = ObjectNames::default();
        assert_eq!(names.id("sysUptime"), Some(vec![1, 3, 6, 1, 2, 1, 1, 3, 0]));
        assert_eq!(names.id("ifInOctets.3"), Some(vec![1, 3, 6, 1, 2, 1, 2, 2, 1, 10, 3]));
        assert_eq!(names.id(".1.3.6"), Some(vec![1, 3, 6]));
        for unknown in ["noSuchName", "", "1..3", "1.x", "ifInOctets.x"] {
            assert_eq!(names.id(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn mib_files_add_names() {
        let mib = r#"
            TEST-MIB DEFINITIONS ::= BEGIN
            IMPORTS enterprises FROM RFC1155-SMI; -- a comment
            leaf OBJECT-TYPE SYNTAX OBJECT IDENTIFIER -- a type -- ACCESS read-only
                DESCRIPTION "a text with ::= { x 1 }" ::= { branch 4 }
            branch OBJECT IDENTIFIER ::= { tree branch ( 2 ) 3 }
            tree MODULE-IDENTITY LAST-UPDATED "2020" ::= {enterprises 99}
            lost OBJECT-TYPE ::= { nowhere 1 }
            END"#;
        let mut names = ObjectNames::default();
        names.load(mib);
        assert_eq!(names.id("leaf.0"), Some(vec![1, 3, 6, 1, 4, 1, 99, 2, 3, 4, 0]));
        assert_eq!(names.id("lost"), None);
    }
}
