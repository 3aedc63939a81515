//! Without descriptors cgroups say so by their state.  A test binary of its own, since the limit
//! is the process's.

use std::sync::Arc;

use procfs::Host;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sample::{State, Table};
use testkit::FakeHost;

#[test]
fn cgroups_without_descriptors_fail_instead_of_lying() {
    let tree = testkit::trees::find("cgroup2").unwrap();
    let fake = FakeHost::new().unwrap();
    tree.write(fake.root(), 0).unwrap();
    let entry = source::find("cgroup").unwrap();
    let context = getrlimit(Resource::Nofile);

    // Few: half of them are kept, the other files are opened each time.
    let few = Rlimit { current: Some(64), maximum: context.maximum };
    setrlimit(Resource::Nofile, few).unwrap();
    let mut host = Host::new(fake.root());
    let mut source = (entry.open)(&mut host, &Arc::default());
    let mut table = Table::new(entry.fields.len());
    assert_eq!(source.read(&mut host, &mut table), State::Ok);
    assert_eq!(table.rows(), 41);
    let usage = entry.field("cpu_usage").unwrap();
    assert!((0..table.rows()).all(|row| table.get(row, usage).is_some()));

    // None: everything that is left is taken.
    let mut taken = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        taken.push(file);
    }
    host.begin_tick();
    let emfile = State::Failed(rustix::io::Errno::MFILE.raw_os_error());
    assert_eq!(source.read(&mut host, &mut table), emfile);

    // Some again.
    taken.clear();
    host.begin_tick();
    assert_eq!(source.read(&mut host, &mut table), State::Ok);
    assert_eq!(table.rows(), 41);
}
