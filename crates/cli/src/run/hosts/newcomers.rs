//! Hosts that join while jobs run: those that values name as their groups (`--hostgroups`).

use run::engine::Reached;
use run::remote::{Connection, Login};
use run::schedule::{Jobs, Kernel};

use super::{limits, reached};

/// Makes hosts of logins, sized as those of the command line are.
#[derive(Debug)]
pub(super) struct Newcomers {
    jobs: Jobs,
    connection: Connection,
}

impl Newcomers {
    pub(super) fn new(jobs: &Jobs, connection: &Connection) -> Self {
        Newcomers { jobs: jobs.clone(), connection: connection.clone() }
    }
}

impl run::engine::Newcomers for Newcomers {
    /// Asks the host how many CPU threads it has, where `-j` needs to know: no job starts meanwhile.
    fn reach(&mut self, login: &str) -> Result<(Reached, u32), String> {
        let login = Login::parse(login).map_err(|error| error.to_string())?;
        let logins = [login];
        let limits = limits(&logins, &self.jobs, &self.connection, &mut Kernel::default());
        let limit = limits.map_err(|error| error.to_string())?;
        let [login] = logins;
        let reached = reached(login, &self.connection).map_err(|error| error.to_string())?;
        Ok((reached, limit.first().copied().unwrap_or(1)))
    }
}
