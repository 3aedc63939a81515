//! The samples of hosts, each to files and views of its own.

use std::sync::Arc;

use procfs::Host;
use recorder::{Consumer as _, Outputs, RecorderError, Tick};
use sample::{Clock, Meta, Moment, SourceDef};

use crate::RemoteHostsError;
use crate::recorders::{HostEvent, HostsRecorded, HostsStop};

/// What is made of the samples of each host.
pub struct HostOutputs<'a, E> {
    /// Opens the outputs of a host: its facts, what stands in front of its lines, and its sources.
    pub open: &'a mut HostOpener<'a, E>,
    /// Whether they have files: then no two hosts may have one name.
    pub have_files: bool,
    /// Hears why a host has failed.
    pub tell: &'a mut dyn FnMut(String),
    /// The time, of messages and files.
    pub clock: &'a mut dyn Clock,
}

/// Opens the outputs of a host.
pub type HostOpener<'a, E> =
    dyn FnMut(Meta, String, &[Arc<SourceDef>], Moment) -> Result<Outputs, E> + 'a;

/// A host whose recorder has begun.
struct OpenHost {
    number: usize,
    name: String,
    outputs: Outputs,
}

impl<E: From<RemoteHostsError> + From<RecorderError>> HostOutputs<'_, E> {
    /// Records until all recorders have ended, or `stop` ends them; whether none has failed for good.
    ///
    /// # Errors
    /// If outputs cannot be opened, or nobody reads them: then all are ended.
    pub fn record(&mut self, hosts: &HostsRecorded, stop: &HostsStop) -> Result<bool, E> {
        let nowhere = Host::in_memory();
        let (mut open, mut is_whole) = (Vec::<OpenHost>::new(), true);
        let ended = hosts.run(stop, &mut |event| -> Result<(), E> {
            let now = self.clock.now();
            match event {
                HostEvent::Begun(number, meta, defs) => {
                    let name = meta.host().to_owned();
                    if let Some(other) =
                        open.iter().find(|other| self.have_files && other.name == name)
                    {
                        let (one, other) = (hosts.name(number), hosts.name(other.number));
                        let name = layout::text::escape(name.as_bytes());
                        (self.tell)(format!("{one}: it is called {name}, as {other} is"));
                        stop.kill(number);
                        return Ok(());
                    }
                    let outputs = (self.open)(meta, hosts.prefix(number), &defs, now)?;
                    open.push(OpenHost { number, name, outputs });
                }
                HostEvent::Sample(number, mut snapshot) => {
                    if let Some(host) = open.iter_mut().find(|host| host.number == number) {
                        host.outputs.consume(&Tick::of(0, 0), &mut snapshot, &nowhere)?;
                    }
                }
                HostEvent::Done(number) => close(&mut open, number, now)?,
                HostEvent::Failed(number, why, is_tried_again) => {
                    let next = if is_tried_again { "; trying again" } else { "" };
                    (self.tell)(format!("{}: {why}{next}", hosts.name(number)));
                    is_whole &= is_tried_again;
                    close(&mut open, number, now)?;
                }
            }
            Ok(())
        });
        let now = self.clock.now();
        let closed = open.into_iter().map(|host| host.outputs.close(now)).fold(Ok(()), Result::and);
        ended?;
        closed?;
        Ok(is_whole)
    }
}

/// Closes the outputs of a host whose recorder has ended.
fn close(open: &mut Vec<OpenHost>, number: usize, now: Moment) -> Result<(), RecorderError> {
    match open.iter().position(|host| host.number == number) {
        Some(at) => open.swap_remove(at).outputs.close(now),
        None => Ok(()),
    }
}
