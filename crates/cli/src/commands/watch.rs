//! `whit watch` and `whit config`: the service, and the configuration that is in force.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use procfs::SystemClock;
use watch::{
    Configuration, ConfigurationError, DataKind, Service, ServiceEnd, ServiceManager,
    ServicePlaces, ServiceStatus,
};

use crate::stderr;

/// Which configuration.
#[derive(clap::Args)]
pub(crate) struct FileArguments {
    /// The configuration [default: /etc/whit/whit.toml, of others than root ~/.config/whit/whit.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder of all data, in place of [data] folder
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Arguments of `whit watch`.
#[derive(clap::Args)]
#[command(after_help = crate::help::WATCH)]
pub(crate) struct WatchArguments {
    #[command(flatten)]
    file: FileArguments,
    /// Show what the parts of the running service do, and end
    #[arg(long)]
    status: bool,
    /// With --status: as JSON
    #[arg(long, requires = "status")]
    json: bool,
}

/// Arguments of `whit config`.
#[derive(clap::Args)]
pub(crate) struct ConfigArguments {
    #[command(flatten)]
    file: FileArguments,
    /// Print the file that is installed: every key, with a comment and its default
    #[arg(long)]
    installed: bool,
    /// Print a drop-in for whit.service: the capabilities, folders and addresses that the parts need
    #[arg(long, conflicts_with = "installed")]
    unit: bool,
}

/// Where services of this machine may be.
pub(crate) fn services() -> Vec<ServicePlaces> {
    ServicePlaces::to_look_at(rustix::process::geteuid().is_root(), &|name| std::env::var_os(name))
}

/// The folder of the service's data, for a verb that is given no path; says which it is.
pub(crate) fn data_of_service(kind: DataKind) -> anyhow::Result<PathBuf> {
    let folder = kind.find(&services())?;
    stderr::message(format_args!("from {}", folder.display()));
    Ok(folder)
}

impl FileArguments {
    pub(crate) fn places(&self) -> anyhow::Result<ServicePlaces> {
        let folder = self.folder.as_ref().map(std::path::absolute).transpose()?;
        let is_root = rustix::process::geteuid().is_root();
        Ok(ServicePlaces::of(is_root, &|name| std::env::var_os(name), folder.as_deref()))
    }

    pub(crate) fn read(&self, places: &ServicePlaces) -> Result<Configuration, ConfigurationError> {
        Configuration::in_force(places, self.config.as_deref())
    }
}

/// Runs `whit watch`: until INT or TERM; in the process of a part that part.
pub(crate) fn run(arguments: &WatchArguments) -> anyhow::Result<ExitCode> {
    let places = arguments.file.places()?;
    if arguments.status {
        let all = if places.is_asked { vec![places] } else { services() };
        let status = ServiceStatus::find(&all)?;
        stderr::print(&match arguments.json {
            true => format!("{}\n", status.json()),
            false => status.text(jiff::Timestamp::now().as_second()),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let configuration = match arguments.file.read(&places) {
        Ok(configuration) => configuration,
        Err(error) => return Ok(refused(&error)),
    };
    let given = watch::given_sockets(&|name| std::env::var(name).ok())?;
    let given: Vec<_> = given.into_iter().map(|(socket, _)| socket).collect();
    let manager = ServiceManager::of_environment(&|name| std::env::var_os(name));
    let manager = manager.context("NOTIFY_SOCKET")?;
    // No file of the service is for everybody.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o027));
    let (mut clock, say) = (SystemClock, |text: &str| stderr::message(text));
    let folder = configuration.folder().display();
    say(&format!("data in {folder}; whit watch --status shows the parts"));
    let parts = (places.clone(), manager, given);
    let service = Service::start(configuration, parts, &mut clock, &say)?;
    heap::return_unused();
    Ok(match service.run(&|| arguments.file.read(&places))? {
        ServiceEnd::Asked => ExitCode::SUCCESS,
        ServiceEnd::Part(words) => {
            for name in watch::SERVICE_VARIABLES {
                // SAFETY: a process that was forked has no other thread that could read the environment.
                unsafe { std::env::remove_var(name) };
            }
            crate::words::become_part(words);
            crate::run()
        }
    })
}

/// Runs `whit config`.
pub(crate) fn show(arguments: &ConfigArguments) -> anyhow::Result<ExitCode> {
    let mut places = arguments.file.places()?;
    if arguments.unit && !places.is_asked {
        // Those of the machine's service, whoever asks.
        places = ServicePlaces::of(true, &|_| None, None);
    }
    let text = match (arguments.installed, arguments.file.read(&places)) {
        (true, _) => watch::default_file(),
        (false, Ok(configuration)) if arguments.unit => watch::unit_drop_in(&configuration),
        (false, Ok(configuration)) => configuration.shown(),
        (false, Err(error)) => return Ok(refused(&error)),
    };
    stderr::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Says every error of a configuration in a line of its own.
pub(crate) fn refused(error: &ConfigurationError) -> ExitCode {
    text::error_text::with_causes(error).lines().for_each(stderr::message);
    ExitCode::from(2)
}
