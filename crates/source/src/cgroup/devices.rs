//! Which disks count in a group's traffic.  Traffic of a stacked device (dm, md) is counted again
//! on the lower devices, and that of a loop device on the disk of its file.
//!
//! A device is examined once, when a group first has traffic on it: one `getdents`.

use std::path::Path;

use procfs::Host;

/// The most devices examined; the traffic of further ones counts.
const DEVICES_MAX: usize = 4096;

/// The examined devices, sorted by `major:minor`.
#[derive(Debug, Default)]
pub(super) struct Devices(Vec<(Vec<u8>, bool)>);

impl Devices {
    /// Whether the device's traffic counts.
    pub(super) fn counts(&mut self, host: &mut Host, device: &[u8]) -> bool {
        let index = match self.0.binary_search_by(|(known, _)| known.as_slice().cmp(device)) {
            Ok(index) => return self.0[index].1,
            Err(index) => index,
        };
        if self.0.len() >= DEVICES_MAX {
            return true;
        }
        let counts = !device.starts_with(LOOP) && !is_stacked(host, device);
        self.0.insert(index, (device.to_vec(), counts));
        counts
    }
}

/// The major number of the loop driver (kernel `Documentation/admin-guide/devices.txt`).
const LOOP: &[u8] = b"7:";

fn is_stacked(host: &mut Host, device: &[u8]) -> bool {
    let is_number = device.iter().all(|byte| byte.is_ascii_digit() || *byte == b':');
    let Ok(device) = std::str::from_utf8(device) else { return false };
    if !is_number {
        return false;
    }
    let path = format!("/sys/dev/block/{device}/slaves");
    let mut below = 0;
    let looked = host.for_each_name(Path::new(&path), |_, _| below += 1);
    looked.is_ok() && below > 0
}
