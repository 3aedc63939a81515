//! `whit poll --share`: devices that are shared with other pollers.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use nats::BucketAddress;
use poll::share::{Share, ShareSettings, account_beside};
use send::{EngineAccess, SendSettings};

use super::Polled;
use super::messages::Messages;
use super::samples::Samples;

/// Options of sharing.
#[derive(clap::Args, Clone)]
pub(super) struct ShareArguments {
    /// Share devices with the other pollers that name this bucket of NATS JetStream, each with the same
    /// configurations: nats://HOST:PORT/BUCKET, or tls:// for TLS
    #[arg(long, value_name = "ADDRESS", value_parser = BucketAddress::parse)]
    share: Option<BucketAddress>,
    /// The name of this poller among those that share; without it that of the host
    #[arg(long, value_name = "NAME", requires = "share")]
    poller: Option<String>,
    /// The authorities (CA) that the server of --share is checked by, a file of PEM; without it those of the
    /// system
    #[arg(long, value_name = "FILE", requires = "share")]
    share_ca: Option<PathBuf>,
    /// Say the token in this file to the server of --share
    #[arg(long, value_name = "FILE", requires = "share")]
    share_token_file: Option<PathBuf>,
}

impl ShareArguments {
    /// Who shares and where, if devices are shared: files are read.
    pub(super) fn settings(&self) -> anyhow::Result<Option<ShareSettings>> {
        let Some(bucket) = self.share.clone() else { return Ok(None) };
        let own_name = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        let name = self.poller.clone().unwrap_or_else(own_name);
        ShareSettings::check_name(&name).context("--poller")?;
        let files = EngineAccess {
            authorities: self.share_ca.clone(),
            token_file: self.share_token_file.clone(),
        };
        let mut access = SendSettings::default();
        files.load(&mut access, bucket.server.is_encrypted()).context("--share")?;
        Ok(Some(ShareSettings { bucket, access: access.nats_access(), name, account: None }))
    }
}

/// Refuses a poller that makes one round only: the others would take it for silent.
pub(super) fn check(settings: Option<&ShareSettings>, rounds: Option<u64>) -> anyhow::Result<()> {
    ensure!(
        settings.is_none() || rounds != Some(1),
        "--share needs a poller that stays: give --daemon, -c with 2 and more, or RunAsDaemon: yes"
    );
    Ok(())
}

/// Joins the others.
pub(super) fn join(
    settings: Option<ShareSettings>,
    samples: &Samples,
    polled: &[Polled],
    messages: &Messages,
) -> anyhow::Result<Option<Share>> {
    let (Some(mut settings), messages) = (settings, messages.clone()) else { return Ok(None) };
    settings.account = samples.place().map(account_beside);
    let configs: Vec<_> = polled.iter().map(|one| &one.config).collect();
    let say = Box::new(move |text: &str| messages.say(text));
    Ok(Some(Share::join(settings, &configs, say).context("--share")?))
}

/// Tells it of configurations that were read again.
pub(super) fn reload(share: Option<&Share>, polled: &[Polled]) {
    let configs: Vec<_> = polled.iter().map(|one| &one.config).collect();
    share.into_iter().for_each(|share| share.configure(&configs));
}
