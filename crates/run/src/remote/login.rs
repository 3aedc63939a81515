//! `-S` and `--sshloginfile`: the hosts that run jobs.
//!
//! `[@group[+group…]/][threads/][program [options] ][user@]host[:port]`.  The host may be an IPv6
//! address in brackets, or without brackets and with its port after `p` or `#`.  `web[01-12,20]`
//! stands for many hosts; `:` is this machine; `@group` alone keeps only the hosts of that group;
//! `..` and `.` are the files of the user and of the machine, `-` is standard input.

mod range;

use std::collections::HashMap;

use thiserror::Error;

/// Most hosts that one `-S` or one line may stand for.
const HOSTS_MAX: usize = 65_536;

/// Why a login cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LoginError {
    /// It has no host.
    #[error("-S '{0}': no host in it")]
    Host(String),
    /// ssh would take the host for an option.
    #[error("-S '{0}': a host cannot begin with a -")]
    Option(String),
    /// The port is invalid.
    #[error("-S '{0}': a port is a number from 1 to 65535")]
    Port(String),
    /// It has a password, which every user of this machine could read.
    #[error("-S: a login for {0} cannot hold a password: use a key, or sshpass -e ssh {0}")]
    Password(String),
    /// The number of threads is invalid.
    #[error("-S '{0}': the number of threads before the / is not a number from 1 on")]
    Threads(String),
    /// Brackets are not closed, or do not contain numbers.
    #[error("-S '{0}': a range is written [1,3,8-10]")]
    Range(String),
    /// Too many hosts.
    #[error("-S '{0}': more than {HOSTS_MAX} hosts")]
    Many(String),
}

/// An entry of `-S` or of a line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginEntry {
    /// A host.
    Login(Login),
    /// `@group+group` alone: only hosts of these groups are used.
    Groups(Vec<String>),
    /// `..`: the user's own login file.
    UserFile,
    /// `.`: the login file of the machine.
    MachineFile,
    /// `-`: logins are read from standard input.
    Stdin,
}

/// A host that runs jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The groups of the host; the one with its own name comes first.
    pub groups: Vec<String>,
    /// The number of its CPU threads; `None` to query the host.
    pub threads: Option<u32>,
    /// Where it is.
    pub address: HostAddress,
    /// The name in the joblog: the login without groups and threads.
    pub name: String,
}

/// The address of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostAddress {
    /// `:`: this machine, without ssh.
    Local,
    /// Another host.
    Remote(Ssh),
}

/// How to log in to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssh {
    /// The login program and its options; empty for the default.
    pub program: Vec<String>,
    /// The user to log in as.
    pub user: Option<String>,
    /// The host.
    pub host: String,
    /// The port.
    pub port: Option<u16>,
}

impl Login {
    /// The host without user and port: `$PARALLEL_SSHHOST`.
    pub fn host(&self) -> &str {
        match &self.address {
            HostAddress::Local => ":",
            HostAddress::Remote(ssh) => &ssh.host,
        }
    }

    /// Parses one login without a range.
    ///
    /// # Errors
    /// Why the login is invalid.
    pub fn parse(text: &str) -> Result<Self, LoginError> {
        let whole = || text.to_owned();
        let (mut groups, rest) = match text.strip_prefix('@').and_then(|rest| rest.split_once('/'))
        {
            Some((groups, rest)) => (split_groups(groups), rest),
            None => (Vec::new(), text),
        };
        let (threads, rest) = match rest.split_once('/') {
            // With an empty number: `//usr/bin/ssh host`.
            Some(("", rest)) => (None, rest),
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                let threads = number.parse().ok().filter(|threads| *threads > 0);
                (Some(threads.ok_or_else(|| LoginError::Threads(whole()))?), rest)
            }
            _ => (None, rest),
        };
        let rest = rest.trim();
        let address =
            if rest == ":" { HostAddress::Local } else { HostAddress::Remote(ssh(rest, text)?) };
        let name = match &address {
            HostAddress::Remote(Ssh { program, user: None, host, port }) if program.is_empty() => {
                port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
            }
            HostAddress::Remote(Ssh { program, user: Some(user), host, port })
                if program.is_empty() =>
            {
                let port = port.map_or_else(String::new, |port| format!(":{port}"));
                format!("{user}@{host}{port}")
            }
            _ => rest.to_owned(),
        };
        groups.insert(0, name.clone());
        Ok(Login { groups, threads, address, name })
    }
}

/// Parses the value of one `-S`: logins separated by commas or newlines; `\,` and `,,` stand for a
/// comma in a login.
///
/// # Errors
/// Why the first invalid login is invalid.
pub fn split(text: &str) -> Result<Vec<LoginEntry>, LoginError> {
    let mut entries = Vec::new();
    let mut word = String::new();
    let mut characters = text.chars().peekable();
    let mut depth = 0_u32;
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek() == Some(&',') => word.extend(characters.next()),
            ',' if characters.peek() == Some(&',') => word.extend(characters.next()),
            // A comma in brackets belongs to a range.
            ',' if depth == 0 => add(&std::mem::take(&mut word), &mut entries)?,
            '\n' => add(&std::mem::take(&mut word), &mut entries)?,
            _ => {
                match character {
                    '[' => depth += 1,
                    ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                word.push(character);
            }
        }
    }
    add(&word, &mut entries)?;
    Ok(entries)
}

/// Parses a login file: one login a line; empty lines and those that begin with `#` are skipped.
///
/// # Errors
/// Why the first invalid login is invalid.
pub fn read_lines(text: &str) -> Result<Vec<LoginEntry>, LoginError> {
    let mut entries = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        add(line, &mut entries)?;
    }
    Ok(entries)
}

/// The hosts to use: all, or those of the groups that were given alone; each once.
pub fn choose(entries: Vec<LoginEntry>) -> Vec<Login> {
    let mut wanted: Vec<String> = Vec::new();
    let mut logins: Vec<Login> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        match entry {
            LoginEntry::Groups(groups) => wanted.extend(groups),
            LoginEntry::Login(login) => match places.get(&login.name) {
                Some(&place) => {
                    let known = &mut logins[place];
                    known.threads = login.threads.or(known.threads);
                    known.groups.extend(login.groups);
                }
                None => {
                    places.insert(login.name.clone(), logins.len());
                    logins.push(login);
                }
            },
            LoginEntry::UserFile | LoginEntry::MachineFile | LoginEntry::Stdin => {}
        }
    }
    if !wanted.is_empty() {
        logins.retain(|login| login.groups.iter().any(|group| wanted.contains(group)));
    }
    logins
}

/// Adds the entries of one word.
fn add(word: &str, entries: &mut Vec<LoginEntry>) -> Result<(), LoginError> {
    match word.trim() {
        "" => {}
        ".." => entries.push(LoginEntry::UserFile),
        "." => entries.push(LoginEntry::MachineFile),
        "-" => entries.push(LoginEntry::Stdin),
        groups if groups.starts_with('@') && !groups.contains('/') => {
            entries.push(LoginEntry::Groups(split_groups(&groups[1..])));
        }
        login => {
            for login in range::expand(login)? {
                entries.push(LoginEntry::Login(Login::parse(&login)?));
            }
        }
    }
    Ok(())
}

fn split_groups(text: &str) -> Vec<String> {
    text.split('+').filter(|group| !group.is_empty()).map(str::to_owned).collect()
}

/// Parses `[program [options] ][user@]host[:port]`.
fn ssh(rest: &str, whole: &str) -> Result<Ssh, LoginError> {
    let mut program: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
    let last = program.pop().ok_or_else(|| LoginError::Host(whole.to_owned()))?;
    let (who, address) = match last.rsplit_once('@') {
        Some((who, address)) => (Some(who), address),
        None => (None, last.as_str()),
    };
    let (user, password) = who.map_or((None, ""), |who| {
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        (Some(user), password)
    });
    if !password.is_empty() {
        return Err(LoginError::Password(format!("{}@{address}", user.unwrap_or_default())));
    }
    let (host, port) = address_parts(address);
    let port = match port {
        Some(port) => {
            let number = port.parse().ok().filter(|number| *number > 0);
            Some(number.ok_or_else(|| LoginError::Port(whole.to_owned()))?)
        }
        None => None,
    };
    if host.is_empty() {
        return Err(LoginError::Host(whole.to_owned()));
    }
    if host.starts_with('-') || user.is_some_and(|user| user.starts_with('-')) {
        return Err(LoginError::Option(whole.to_owned()));
    }
    Ok(Ssh {
        program,
        user: user.filter(|user| !user.is_empty()).map(str::to_owned),
        host: host.to_owned(),
        port,
    })
}

/// Splits a host and its port, for names, IPv4 and IPv6 addresses.
fn address_parts(address: &str) -> (&str, Option<&str>) {
    if let Some((host, port)) = address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, port.strip_prefix(':'));
    }
    let colons = address.bytes().filter(|byte| *byte == b':').count();
    let parts = match colons {
        0 => address.rsplit_once('#'),
        1 => address.split_once(':'),
        // An IPv6 address contains no p.
        _ => address.rsplit_once(['p', '#']),
    };
    parts.map_or((address, None), |(host, port)| (host, Some(port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a login is: groups but its own, threads, program, user, password, host, port, name.
    fn parts(text: &str) -> String {
        let login = Login::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let groups = login.groups[1..].join("+");
        let threads = login.threads.map_or_else(|| "-".into(), |threads| threads.to_string());
        let HostAddress::Remote(ssh) = &login.address else {
            return format!("{groups} {threads} here ={}", login.name);
        };
        let program = ssh.program.join("_");
        let user = ssh.user.as_deref().unwrap_or("-");
        let port = ssh.port.map_or_else(|| "-".into(), |port| port.to_string());
        format!("{groups} {threads} {program} {user} {} {port} ={}", ssh.host, login.name)
    }

    #[test]
    fn every_form_of_a_login_is_read() {
        assert_eq!(parts("server"), " -  - server - =server");
        assert_eq!(parts("8/user@server"), " 8  user server - =user@server");
        assert_eq!(parts("user@server:22"), " -  user server 22 =user@server:22");
        assert_eq!(parts("4/ssh -p 2222 quad"), " 4 ssh_-p_2222 - quad - =ssh -p 2222 quad");
        assert_eq!(
            parts("//usr/bin/myssh -l me hexa"),
            " - /usr/bin/myssh_-l_me - hexa - =/usr/bin/myssh -l me hexa"
        );
        assert_eq!(
            parts("6//usr/bin/myssh hexa"),
            " 6 /usr/bin/myssh - hexa - =/usr/bin/myssh hexa"
        );
        assert_eq!(parts("16/:"), " 16 here =:");
        assert_eq!(parts("@g1+g2/4/me@one"), "g1+g2 4  me one - =me@one");
        assert_eq!(parts("[::1]:2222"), " -  - ::1 2222 =::1:2222");
        assert_eq!(parts("::1p2222"), " -  - ::1 2222 =::1:2222");
        assert_eq!(parts("me@fe80::2#22"), " -  me fe80::2 22 =me@fe80::2:22");
        assert_eq!(parts("fe80::2"), " -  - fe80::2 - =fe80::2");
        assert_eq!(parts("10.0.0.1:7"), " -  - 10.0.0.1 7 =10.0.0.1:7");
    }

    #[test]
    fn what_is_no_login_is_named() {
        let error = |text: &str| Login::parse(text).map(|login| login.name);
        assert_eq!(error("8/"), Err(LoginError::Host("8/".into())));
        assert_eq!(error("user@"), Err(LoginError::Host("user@".into())));
        assert_eq!(error("-oProxyCommand=x"), Err(LoginError::Option("-oProxyCommand=x".into())));
        assert_eq!(error("ssh -v -x"), Err(LoginError::Option("ssh -v -x".into())));
        assert_eq!(error("h:70000"), Err(LoginError::Port("h:70000".into())));
        assert_eq!(error("h:0"), Err(LoginError::Port("h:0".into())));
        let password = error("me:secret@h:22");
        assert_eq!(password, Err(LoginError::Password("me@h:22".into())));
        assert!(!password.unwrap_err().to_string().contains("secret"));
        assert_eq!(error("0/h"), Err(LoginError::Threads("0/h".into())));
    }

    fn names(entries: Vec<LoginEntry>) -> Vec<String> {
        choose(entries).into_iter().map(|login| login.name).collect()
    }

    #[test]
    fn logins_stand_behind_commas_and_on_lines() {
        let entries = split("2/a,b\n\nc[1,3-4],:").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(names(entries), ["a", "b", "c1", "c3", "c4", ":"]);
        let comma = split(r"ssh -o A=1\,2 h,ssh -o B=1,,2 h").map(names);
        assert_eq!(comma, Ok(vec!["ssh -o A=1,2 h".into(), "ssh -o B=1,2 h".into()]));
        let special = split("..,-").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(special, [LoginEntry::UserFile, LoginEntry::Stdin]);
        let file = read_lines("# comment\n\n 8/a \n@g/b\nssh -p 1,2 c\n").map(names);
        assert_eq!(file, Ok(vec!["a".into(), "b".into(), "ssh -p 1,2 c".into()]));
    }

    #[test]
    fn a_group_alone_keeps_its_hosts() {
        let entries =
            split("@g1/1/a,@g2+g3/1/b,c,@g3,@c").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(names(entries), ["b", "c"]);
        let none = split("a,@nobody").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(names(none), Vec::<String>::new());
    }

    #[test]
    fn a_host_named_twice_is_one_host() {
        let entries = split("a,4/a,@g/a").unwrap_or_else(|error| panic!("{error}"));
        let logins = choose(entries);
        assert_eq!(logins.len(), 1);
        assert_eq!(logins[0].threads, Some(4));
        assert!(logins[0].groups.contains(&"g".to_owned()));
    }
}
