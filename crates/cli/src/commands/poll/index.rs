//! `whit poll index`: a page of all targets of configurations.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::builder::PossibleValue;
use poll::Config;
use poll::index::{IndexFilter, IndexRequest, IndexSection, IndexSort, index};
use poll::pages::PagePeriod;

/// Options of `whit poll index`.
#[derive(clap::Args)]
#[command(after_help = crate::help::POLL_INDEX)]
pub(crate) struct IndexArguments {
    /// MRTG's configuration files
    #[arg(value_name = "CONFIG", required = true)]
    configs: Vec<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show only targets that match: title=~PATTERN, pagetop!~PATTERN, name=~PATTERN; may be
    /// repeated
    #[arg(long, value_name = "CONDITION")]
    filter: Vec<String>,
    /// The order of targets: original, name, title, descr
    #[arg(long, value_name = "ORDER", default_value = "original", value_parser = sorts())]
    sort: String,
    /// The picture: day, week, month, year, none
    #[arg(long, value_name = "PERIOD", default_value = "day", value_parser = ["day", "week", "month", "year", "none"])]
    show: String,
    /// Headings: h1 (of PageTop), title, name, descr, ifname, portname
    #[arg(long, value_name = "WHAT", default_value = "h1", value_parser = sections())]
    section: String,
    /// Put the host before headings that do not name it
    #[arg(long)]
    sectionhost: bool,
    /// The title of the page
    #[arg(long, value_name = "TEXT", default_value = "MRTG Index Page")]
    title: String,
    /// A line below the title
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    subtitle: String,
    /// HTML for the head of the page
    #[arg(long, value_name = "HTML", default_value = "", hide_default_value = true)]
    addhead: String,
    /// HTML for the head of the page, before that of --addhead
    #[arg(long, value_name = "HTML", default_value = "", hide_default_value = true)]
    headeradd: String,
    /// Attributes of the body
    #[arg(long, value_name = "ATTRIBUTES")]
    bodyopt: Option<String>,
    /// The level of headings: 1 for H1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=6))]
    headlevel: u32,
    /// HTML above the title
    #[arg(long, value_name = "HTML")]
    pagetop: Option<String>,
    /// HTML below the table
    #[arg(long, value_name = "HTML")]
    pageend: Option<String>,
    /// HTML above the title and below the table, unless --pagetop or --pageend is given
    #[arg(long, value_name = "HTML")]
    pagetopend: Option<String>,
    /// Nothing below the table
    #[arg(long)]
    nolegend: bool,
    /// Pictures in a row
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    columns: u32,
    /// Begin a row for each host
    #[arg(long)]
    perhost: bool,
    /// Little space between pictures
    #[arg(long)]
    compact: bool,
    /// Do not write the command line into the page
    #[arg(long)]
    nooptlog: bool,
    /// Number the pictures
    #[arg(long)]
    enumerate: bool,
    /// Pictures before their headings
    #[arg(long)]
    picfirst: bool,
    /// Width of pictures
    #[arg(long, value_name = "PIXELS")]
    width: Option<u32>,
    /// Height of pictures
    #[arg(long, value_name = "PIXELS")]
    height: Option<u32>,
    /// Pictures beside their headings
    #[arg(long)]
    sidebyside: bool,
    /// Headings that are not bold
    #[arg(long)]
    nobold: bool,
    /// Headings that are links
    #[arg(long)]
    clicktext: bool,
    /// The program that draws round-robin databases
    #[arg(long, value_name = "PATH", default_value = "/cgi-bin/14all.cgi")]
    rrdviewer: String,
    /// The folder of icons
    #[arg(long, value_name = "PATH")]
    icondir: Option<String>,
    /// The way from the index to the pages
    #[arg(long, value_name = "PATH")]
    prefix: Option<String>,
    /// Find that way from --output and the folders of the configurations
    #[arg(long, requires = "output")]
    autoprefix: bool,
}

fn sorts() -> Vec<PossibleValue> {
    let descr = PossibleValue::new("descr").alias("description");
    [PossibleValue::new("original"), "name".into(), "title".into(), descr].into()
}

fn sections() -> Vec<PossibleValue> {
    let descr = PossibleValue::new("descr").alias("description");
    let names = ["h1", "title", "name", "ifname", "portname"].map(PossibleValue::from);
    names.into_iter().chain([descr]).collect()
}

/// Runs the verb.
pub(crate) fn run(arguments: &IndexArguments) -> anyhow::Result<ExitCode> {
    let mut configs: Vec<(String, Config)> = Vec::new();
    for path in &arguments.configs {
        configs.push((path.display().to_string(), super::loaded(path)?));
    }
    let request = arguments.request()?;
    let text = index(&request, &configs)?;
    super::write_text(arguments.output.as_deref(), &text, super::Readers::All)?;
    Ok(ExitCode::SUCCESS)
}

impl IndexArguments {
    fn request(&self) -> anyhow::Result<IndexRequest> {
        let usual = IndexRequest::default();
        let filters: Result<Vec<_>, _> =
            self.filter.iter().map(|text| IndexFilter::parse(text)).collect();
        let both = self.pagetopend.as_ref();
        let or_both = |own: &Option<String>| {
            let own = own.as_ref().filter(|text| !text.is_empty());
            own.or(both).cloned().unwrap_or_default()
        };
        let prefix = self.prefix.as_deref().filter(|prefix| !prefix.is_empty());
        let output = self.output.as_deref().map(Path::display);
        Ok(IndexRequest {
            command_line: (!self.nooptlog).then(|| super::command_line("whit poll index")),
            filters: filters?,
            sort: match self.sort.as_str() {
                "original" => IndexSort::Original,
                "name" => IndexSort::Name,
                "title" => IndexSort::Title,
                _ => IndexSort::Description,
            },
            show: PagePeriod::ALL.into_iter().find(|period| period.name() == self.show),
            section: match self.section.as_str() {
                "h1" => IndexSection::Heading,
                "title" => IndexSection::Title,
                "name" => IndexSection::Name,
                "ifname" => IndexSection::InterfaceName,
                "portname" => IndexSection::PortName,
                _ => IndexSection::Description,
            },
            has_host_in_section: self.sectionhost,
            add_head: self.addhead.clone(),
            header_add: self.headeradd.clone(),
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            body_options: self.bodyopt.clone().unwrap_or(usual.body_options),
            head_level: self.headlevel,
            page_top: or_both(&self.pagetop),
            page_end: or_both(&self.pageend),
            is_without_legend: self.nolegend,
            columns: self.columns,
            is_per_host: self.perhost,
            is_compact: self.compact,
            is_numbered: self.enumerate,
            has_picture_first: self.picfirst,
            width: self.width,
            height: self.height,
            is_side_by_side: self.sidebyside,
            is_bold: !self.nobold,
            has_text_links: self.clicktext,
            viewer: self.rrdviewer.clone(),
            icon_dir: self.icondir.clone(),
            prefix: prefix
                .map(|path| format!("{}/", path.trim_end_matches('/')))
                .unwrap_or_default(),
            prefix_from: match (self.autoprefix, output) {
                (true, Some(output)) => Some(output.to_string()),
                (true, None) => bail!("--autoprefix needs --output"),
                _ => None,
            },
            now_s: super::now_s(),
        })
    }
}
