//! Hosts that are added while jobs run: those that values name as groups (`--hostgroups`), and those
//! that are new in a login file.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::logins::{LoginSources, Stamps};
use super::{HostsError, Warnings, filter, limits, reached};
use crate::engine::os::Waker;
use crate::engine::{self, JobHost};
use crate::remote::{Connection, Login};
use crate::schedule::{Jobs, LocalMachine};

/// Adds hosts for logins, with slots as for the hosts of the command line.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    pub(super) jobs: Jobs,
    pub(super) connection: Connection,
    /// Base files were sent, which hosts that join would lack.
    pub(super) needs_base: bool,
    /// `$PATH`.
    pub(super) path: Vec<u8>,
    pub(super) warnings: Warnings,
}

impl Connector {
    /// Queries the CPU threads of hosts, if `-j` needs them.
    fn join(&self, logins: Vec<Login>) -> Result<Vec<(JobHost, u32)>, HostsError> {
        let mut machine = LocalMachine::default();
        let limits = limits(&logins, &self.jobs, &self.connection, &mut machine, &self.warnings)?;
        let reach = |login| self.reached(login);
        let all: Result<Vec<JobHost>, HostsError> = logins.into_iter().map(reach).collect();
        Ok(all?.into_iter().zip(limits).collect())
    }

    /// Rejects a host that would lack base files.
    fn check(&self, login: &Login) -> Result<(), HostsError> {
        if self.needs_base {
            return Err(HostsError::TooLate(login.name.clone()));
        }
        Ok(())
    }

    fn reached(&self, login: Login) -> Result<JobHost, HostsError> {
        reached(login, &self.connection, &self.path)
    }
}

impl engine::AddedHosts for Connector {
    fn reach(&mut self, login: &str) -> Result<(JobHost, u32), String> {
        let login = Login::parse(login).map_err(|error| error.to_string())?;
        self.check(&login).map_err(|error| error.to_string())?;
        let joined = self.join(vec![login]).map_err(|error| error.to_string())?;
        joined.into_iter().next().ok_or_else(|| "no host".to_owned())
    }
}

/// All hosts and their numbers of slots, until the engine takes them.
pub(super) type ReadHosts = Option<Vec<(JobHost, u32)>>;

/// Login files that may change.
#[derive(Debug)]
pub(super) struct LoginFiles {
    pub(super) sources: LoginSources,
    pub(super) connector: Connector,
    /// `--filter-hosts`.
    pub(super) filters: bool,
    /// The numbers of slots of known hosts.
    pub(super) known: HashMap<String, u32>,
    /// The stamps of the files when they were last read.
    pub(super) stamps: Stamps,
    pub(super) waker: Waker,
    /// The result of the thread that reads them.
    pub(super) found: Arc<Mutex<ReadHosts>>,
}

impl engine::Logins for LoginFiles {
    fn look(&mut self) {
        let stamps = self.sources.stamps();
        if stamps == self.stamps {
            return;
        }
        self.stamps = stamps;
        let reader = LoginFileReader {
            sources: self.sources.clone(),
            connector: self.connector.clone(),
            filters: self.filters,
            known: self.known.clone(),
        };
        let (found, waker) = (Arc::clone(&self.found), self.waker);
        let warnings = self.connector.warnings.clone();
        let read = move || match reader.read() {
            Ok(hosts) => {
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(hosts);
                waker.wake();
            }
            Err(error) => warnings.warn(&format!("{error}: hosts stay as they are")),
        };
        // Without a thread the hosts stay as they are too.
        let _ = thread::Builder::new().name("logins".into()).spawn(read);
    }

    fn take_hosts(&mut self) -> Option<Vec<(JobHost, u32)>> {
        let hosts = self.found.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let known = hosts.iter().map(|(host, limit)| (host.login.name.clone(), *limit));
        self.known.extend(known);
        Some(hosts)
    }
}

/// Reads login files.
struct LoginFileReader {
    sources: LoginSources,
    connector: Connector,
    filters: bool,
    known: HashMap<String, u32>,
}

impl LoginFileReader {
    fn read(&self) -> Result<Vec<(JobHost, u32)>, HostsError> {
        let mut logins = self.sources.read()?;
        if self.filters {
            let Connector { connection, warnings, .. } = &self.connector;
            logins = filter::reachable(logins, connection, warnings)?;
        }
        let is_new = |login: &&Login| !self.known.contains_key(&login.name);
        if let Some(login) = logins.iter().find(is_new) {
            self.connector.check(login)?;
        }
        let (old, new): (Vec<Login>, Vec<Login>) = logins
            .into_iter()
            .partition(|login| login.threads.is_none() && self.known.contains_key(&login.name));
        let mut hosts = Vec::new();
        for login in old {
            let limit = self.known.get(&login.name).copied().unwrap_or(1);
            hosts.push((self.connector.reached(login)?, limit));
        }
        hosts.extend(self.connector.join(new)?);
        Ok(hosts)
    }
}
