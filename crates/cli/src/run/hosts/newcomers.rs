//! Hosts that join while jobs run: those that values name as their groups (`--hostgroups`), and those
//! that are new in a file of logins.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::bail;
use run::engine::world::Waker;
use run::engine::{Observer as _, Reached};
use run::remote::{Connection, Login};
use run::schedule::{Jobs, Kernel};

use super::logins::{Sources, Stamps};
use super::{filter, limits, reached};
use crate::run::notice::Notices;

/// Makes hosts of logins, sized as those of the command line are.
#[derive(Clone, Debug)]
pub(super) struct Newcomers {
    pub(super) jobs: Jobs,
    pub(super) connection: Connection,
    /// Hosts that join get no base files.
    pub(super) needs_base: bool,
}

impl Newcomers {
    /// Asks hosts how many CPU threads they have, where `-j` needs to know.
    fn join(&self, logins: Vec<Login>) -> anyhow::Result<Vec<(Reached, u32)>> {
        let limits = limits(&logins, &self.jobs, &self.connection, &mut Kernel::default())?;
        let reach = |login| reached(login, &self.connection);
        let all: anyhow::Result<Vec<Reached>> = logins.into_iter().map(reach).collect();
        Ok(all?.into_iter().zip(limits).collect())
    }

    /// Refuses a host that is new where it would lack files.
    fn check(&self, login: &Login) -> anyhow::Result<()> {
        if self.needs_base {
            bail!("{} comes too late for the files of --basefile", login.name);
        }
        Ok(())
    }
}

impl run::engine::Newcomers for Newcomers {
    fn reach(&mut self, login: &str) -> Result<(Reached, u32), String> {
        let login = Login::parse(login).map_err(|error| error.to_string())?;
        self.check(&login).map_err(|error| error.to_string())?;
        let joined = self.join(vec![login]).map_err(|error| error.to_string())?;
        joined.into_iter().next().ok_or_else(|| "no host".to_owned())
    }
}

/// All hosts and how many jobs each gets, until the engine takes them.
pub(super) type Found = Option<Vec<(Reached, u32)>>;

/// Files of logins that may change.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) sources: Sources,
    pub(super) newcomers: Newcomers,
    /// `--filter-hosts`.
    pub(super) filters: bool,
    /// How many jobs the hosts get that are known.
    pub(super) known: HashMap<String, u32>,
    /// What the files were when they were read last.
    pub(super) stamps: Stamps,
    pub(super) waker: Waker,
    /// What the thread that reads them has found.
    pub(super) found: Arc<Mutex<Found>>,
}

impl run::engine::Logins for Files {
    fn look(&mut self) {
        let stamps = self.sources.stamps();
        if stamps == self.stamps {
            return;
        }
        self.stamps = stamps;
        let reader = Reader {
            sources: self.sources.clone(),
            newcomers: self.newcomers.clone(),
            filters: self.filters,
            known: self.known.clone(),
        };
        let (found, waker) = (Arc::clone(&self.found), self.waker);
        let read = move || match reader.read() {
            Ok(hosts) => {
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(hosts);
                waker.wake();
            }
            Err(error) => Notices.tell(format!("{error:#}: hosts stay as they are").as_bytes()),
        };
        // Without a thread the hosts stay as they are too.
        let _ = thread::Builder::new().name("logins".into()).spawn(read);
    }

    fn take(&mut self) -> Option<Vec<(Reached, u32)>> {
        let hosts = self.found.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let known = hosts.iter().map(|(host, limit)| (host.login.name.clone(), *limit));
        self.known.extend(known);
        Some(hosts)
    }
}

/// Reads files of logins.
struct Reader {
    sources: Sources,
    newcomers: Newcomers,
    filters: bool,
    known: HashMap<String, u32>,
}

impl Reader {
    fn read(&self) -> anyhow::Result<Vec<(Reached, u32)>> {
        let mut logins = self.sources.read()?;
        if self.filters {
            logins = filter::reachable(logins, &self.newcomers.connection)?;
        }
        let is_new = |login: &&Login| !self.known.contains_key(&login.name);
        if let Some(login) = logins.iter().find(is_new) {
            self.newcomers.check(login)?;
        }
        let (old, new): (Vec<Login>, Vec<Login>) = logins
            .into_iter()
            .partition(|login| login.threads.is_none() && self.known.contains_key(&login.name));
        let mut hosts = Vec::new();
        for login in old {
            let limit = self.known.get(&login.name).copied().unwrap_or(1);
            hosts.push((reached(login, &self.newcomers.connection)?, limit));
        }
        hosts.extend(self.newcomers.join(new)?);
        Ok(hosts)
    }
}
