//! The alerts of a configuration: its rules, and how messages are delivered.

use std::path::PathBuf;
use std::time::Duration;

use alert::{
    AlertDeliverer, AlertReceiver, AlertRule, MailEncryption, MailSettings, SilenceTime,
    WebhookSettings, default_rules,
};
use connection::Address;

use crate::configuration::Configuration;
use crate::keys::KEYS;
use crate::toml::Spot;

/// The longest time between two looks at the rules: a gap of five minutes lets what waits begin anew.
const INTERVAL_S_MAX: u64 = 60;

/// What a configuration says of alerts.
#[derive(Clone, Debug)]
pub struct ConfiguredAlerts {
    /// The rules.
    pub rules: Vec<AlertRule>,
    /// The time between steps.
    pub interval: Duration,
    /// The folder of states.
    pub folder: PathBuf,
    /// The address of the page; nothing for none.
    pub page: String,
    /// What delivers.
    pub deliverer: AlertDeliverer,
}

impl Configuration {
    /// The alerts; `host` is the name of this machine.
    #[must_use]
    pub fn alerts(&self, host: &str) -> ConfiguredAlerts {
        let mut rules: Vec<AlertRule> =
            self.rows("alert").filter_map(|(row, _)| self.rule(row).ok()).collect();
        if self.is_on("alerts.defaults") {
            for rule in default_rules() {
                if rules.iter().all(|one| one.name != rule.name) {
                    rules.push(AlertRule { to: self.receivers("alerts.to"), ..rule });
                }
            }
        }
        let webhook = WebhookSettings {
            token_file: self.path_of("alerts.webhook.token_file"),
            ca: self.path_of("alerts.webhook.ca"),
        };
        ConfiguredAlerts {
            rules,
            interval: self.span("alerts.interval").unwrap_or(Duration::from_secs(30)),
            folder: self.path_of("alerts.folder").unwrap_or_default(),
            page: self.page_url(host),
            deliverer: AlertDeliverer { mail: self.mail(), webhook, ..AlertDeliverer::default() },
        }
    }

    /// The rule of a table; otherwise the key that is wrong, and why.
    fn rule(&self, row: usize) -> Result<AlertRule, (&'static str, String)> {
        let name = |key: &str| format!("alert.{row}.{key}");
        let needed = |key: &'static str| {
            let missing = || (key, "there is none: [[alert]] needs one".to_owned());
            self.text(&name(key)).ok_or_else(missing)
        };
        let mut rule =
            AlertRule::new(needed("name")?, needed("when")?).map_err(|error| ("when", error))?;
        if let Some(text) = self.text(&name("until")) {
            rule.set_until(text).map_err(|error| ("until", error))?;
        }
        if let Some(what) = self.text(&name("heaviest")) {
            rule.set_heaviest(what).map_err(|error| ("heaviest", error))?;
        }
        let ms = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        rule.for_ms = self.span(&name("for")).map_or(0, ms);
        rule.repeat_ms = self.span(&name("repeat")).map(ms);
        let own = self.texts(&name("to")).is_some();
        rule.to = self.receivers(if own { name("to") } else { "alerts.to".to_owned() }.as_str());
        let silence = self.texts(&name("silence")).unwrap_or_default();
        rule.silence = silence.iter().filter_map(|text| SilenceTime::parse(text).ok()).collect();
        self.text(&name("message")).unwrap_or_default().clone_into(&mut rule.message);
        Ok(rule)
    }

    fn receivers(&self, name: &str) -> Vec<AlertReceiver> {
        let texts = self.texts(name).unwrap_or_default();
        texts.iter().filter_map(|text| AlertReceiver::parse(text).ok()).collect()
    }

    fn span(&self, name: &str) -> Option<Duration> {
        text::quantity::parse_span(self.text(name)?).ok()
    }

    fn mail(&self) -> Option<MailSettings> {
        let user = self.text("alerts.mail.user").map(str::to_owned);
        Some(MailSettings {
            server: self.address("alerts.mail.server")?,
            encryption: match self.text("alerts.mail.encryption") {
                Some("none") => MailEncryption::Plain,
                Some("tls") => MailEncryption::Tls,
                _ => MailEncryption::StartTls,
            },
            from: self.text("alerts.mail.from")?.to_owned(),
            user: user.zip(self.path_of("alerts.mail.password_file")),
            ca: self.path_of("alerts.mail.ca"),
        })
    }

    /// The address of the page, as others write it.
    fn page_url(&self, host: &str) -> String {
        if let Some(url) = self.text("alerts.page") {
            return url.to_owned();
        }
        let Some(Address::Network { host: own, port, is_encrypted }) = self.page_address() else {
            return String::new();
        };
        let scheme = if is_encrypted { "https" } else { "http" };
        match own.as_str() {
            "" | "0.0.0.0" | "::" => format!("{scheme}://{host}:{port}"),
            own if own.contains(':') => format!("{scheme}://[{own}]:{port}"),
            own => format!("{scheme}://{own}:{port}"),
        }
    }

    /// What only several keys of alerts together say.
    pub(crate) fn check_alerts(&self, at: &dyn Fn(&str) -> Spot, faults: &mut Vec<(Spot, String)>) {
        let mut names = Vec::new();
        for (row, at_row) in self.rows("alert") {
            let mut keys = KEYS.iter().filter(|key| key.table == "alert");
            if !keys.any(|key| self.item(&format!("alert.{row}.{}", key.name)).is_some()) {
                continue;
            }
            match self.rule(row) {
                Ok(rule) if names.contains(&rule.name) => {
                    let text = format!("name: there are two rules \"{}\"", rule.name);
                    faults.push((at(&format!("alert.{row}.name")), text));
                }
                Ok(rule) => names.push(rule.name),
                Err((key, text)) => {
                    let name = format!("alert.{row}.{key}");
                    let at = if self.item(&name).is_some() { at(&name) } else { at_row };
                    faults.push((at, format!("{key}: {text}")));
                }
            }
        }
        let mut fault = |name: &str, text: &str| faults.push((at(name), text.to_owned()));
        let interval = self.span("alerts.interval").unwrap_or_default().as_secs();
        if !(1..=INTERVAL_S_MAX).contains(&interval) {
            fault("alerts.interval", "interval: give 1s to 60s");
        }
        let has = |key: &str| self.item(&format!("alerts.mail.{key}")).is_some();
        if has("server") != has("from") {
            let given = if has("server") { "server" } else { "from" };
            fault(&format!("alerts.mail.{given}"), "server and from belong together: give both");
        }
        if has("user") != has("password_file") {
            let given = if has("user") { "user" } else { "password_file" };
            let text = "user and password_file belong together: give both";
            fault(&format!("alerts.mail.{given}"), text);
        }
        if has("user") && self.text("alerts.mail.encryption") == Some("none") {
            fault("alerts.mail.user", "user: a password goes only over TLS: change encryption");
        }
        let from = self.text("alerts.mail.from");
        let is_mail = |from: &str| AlertReceiver::parse(&format!("mail:{from}")).is_ok();
        if !from.is_none_or(is_mail) {
            fault("alerts.mail.from", "from: give an address, NAME@HOST");
        }
        let is_unix = |address| matches!(address, Address::Unix(_));
        if self.address("alerts.mail.server").is_some_and(is_unix) {
            fault("alerts.mail.server", "server: give HOST:PORT");
        }
        if !has("server") {
            for name in self.lists_of_receivers() {
                if self.texts(&name).is_some_and(|all| all.iter().any(|to| to.starts_with("mail:")))
                {
                    fault(&name, "to: mail needs [alerts.mail] with server and from");
                }
            }
        }
    }

    fn lists_of_receivers(&self) -> Vec<String> {
        let of_rules = self.rows("alert").map(|(row, _)| format!("alert.{row}.to"));
        std::iter::once("alerts.to".to_owned()).chain(of_rules).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(text: &str) -> Result<Configuration, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.toml");
        std::fs::write(&path, text).unwrap();
        Configuration::read(&path, Path::new("/d")).map_err(|error| error.to_string())
    }

    #[test]
    fn rules_have_what_their_tables_say() {
        let text = "[alerts]\nto = [\"syslog\"]\n[page]\nlisten = \"[::1]:1\"\n[[alert]]\nname = \"a\"\n\
                    when = \"x > 5\"\nfor = \"5m\"\nuntil = \"3\"\nsilence = [\"Sat 0:00-24:00\"]\n\
                    to = [\"command:/bin/true\"]\nrepeat = \"1h\"\nmessage = \"look\"\nheaviest = \"io\"\n\
                    [[alert]]\nname = \"memory pressure\"\nwhen = \"y\"\n";
        let alerts = read(text).unwrap().alerts("h");
        let names: Vec<&str> = alerts.rules.iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!(names, ["a", "memory pressure", "disk full in 24 h", "a part of whit failed"]);
        let rule = &alerts.rules[0];
        assert_eq!((rule.for_ms, rule.repeat_ms, rule.heaviest), (300_000, Some(3_600_000), "io"));
        assert_eq!((rule.message.as_str(), rule.silence.len()), ("look", 1));
        assert_eq!(rule.to[0].to_string(), "command:/bin/true");
        assert_eq!(alerts.rules[2].to[0].to_string(), "syslog:/dev/log");
        assert_eq!(alerts.page, "http://[::1]:1");
        assert_eq!(alerts.folder, Path::new("/d/alerts"));
        let none = read(
            "[alerts]\ndefaults = false\n[page]\nlisten = \"tls:0.0.0.0:1\"\ntls_cert = \"c\"\ntls_key = \"k\"\n",
        );
        let none = none.unwrap().alerts("h");
        assert_eq!((none.rules.len(), none.page.as_str()), (0, "https://h:1"));
        // What the part is given is the same.
        let given = crate::parts::alerts_text(&read(text).unwrap());
        assert_eq!(read(&given).unwrap().alerts("h").rules, alerts.rules);
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_told_with_its_line() {
        for (text, wanted) in [
            ("[[alert]]\nname = \"a\"\n", ":1:1: when: there is none"),
            ("[[alert]]\nwhen = \"x > 1\"\n", ":1:1: name: there is none"),
            ("[[alert]]\nname = \"a\"\nwhen = \"x >\"\n", ":3:8: when: "),
            ("[[alert]]\nname = \"a\"\nwhen = \"x\"\nuntil = \"3\"\n", ":4:1: until: "),
            (
                "[[alert]]\nname=\"a\"\nwhen=\"x\"\n[[alert]]\nname=\"a\"\nwhen=\"x\"\n",
                ":5:1: name: there are two",
            ),
            ("[alerts]\nto = [\"pager:1\"]\n", ":2:6: to: \"pager:1\" is no receiver"),
            ("[alerts]\nto = \"syslog\"\n", ":2:6: to: write a list"),
            ("[alerts]\nto = [\"mail:a@b\"]\n", ":2:1: to: mail needs [alerts.mail]"),
            ("[alerts]\ninterval = \"2m\"\n", ":2:1: interval: give 1s to 60s"),
            ("[alerts.mail]\nserver = \"h:25\"\n", ":2:1: server and from belong together"),
            ("[alerts.mail]\nuser = \"u\"\n", ":2:1: user and password_file belong together"),
            (
                "[alerts.mail]\nuser = \"u\"\npassword_file = \"p\"\nencryption = \"none\"\n",
                ":2:1: user: a password goes only over TLS",
            ),
            (
                "[[alert]]\nname = \"a\"\nwhen = \"x\"\nsilence = [\"Sat\"]\n",
                ":4:11: silence: \"Sat\" is no time",
            ),
            ("[alert]\nname = \"a\"\n", "write [[alert]]"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(wanted), "{text}: {said}");
        }
    }
}
