//! A configuration in the lines of `read.pl`.

use poll::target::{
    InterfaceSelector, NoValue, ObjectMethod, PollTarget, Query, SnmpQuery, Variable,
    VariableSource,
};
use poll::{Config, Decimal};

fn shown(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

pub(crate) fn numbers(id: &[u32]) -> String {
    id.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

/// An identifier, if it is long enough to be asked.
fn object(id: &[u32]) -> String {
    if id.len() < 2 { "unknown".to_owned() } else { numbers(id) }
}

fn variable(one: &Variable) -> String {
    let (id, method) = match &one.source {
        VariableSource::Constant(value) => return format!("constant {value}"),
        VariableSource::Object { id, method, .. } => (id, *method),
    };
    let (kind, key) = match &one.interface {
        InterfaceSelector::None | InterfaceSelector::Number(_) => ("None", ""),
        InterfaceSelector::Address(key) => ("Ip", key.as_str()),
        InterfaceSelector::Description(key) => ("Descr", key.as_str()),
        InterfaceSelector::Name(key) => ("Name", key.as_str()),
        InterfaceSelector::Ethernet(key) => ("Eth", key.as_str()),
        InterfaceSelector::Type(key) => ("Type", key.as_str()),
    };
    let name = match method {
        ObjectMethod::Get | ObjectMethod::IndexAt(_) => "get".to_owned(),
        ObjectMethod::Next => "next".to_owned(),
        ObjectMethod::Walk(number) => format!("walk {number}"),
        ObjectMethod::Count => "count".to_owned(),
    };
    let mut id = id.to_vec();
    match (method, &one.interface) {
        _ if id.is_empty() => {}
        (ObjectMethod::IndexAt(at), InterfaceSelector::Number(number)) => id.insert(at, *number),
        (ObjectMethod::IndexAt(at), _) if kind != "None" => {
            let (before, after) = id.split_at(at);
            let (before, after) = (object(before), numbers(after));
            return format!("{name} {before} index {after} {kind} '{}'", shown(key));
        }
        (_, InterfaceSelector::Number(number)) => id.push(*number),
        _ => {}
    }
    match &one.interface {
        InterfaceSelector::Number(_) => format!("{name} {}", object(&id)),
        InterfaceSelector::None if matches!(method, ObjectMethod::IndexAt(_)) => {
            format!("{name} unknown")
        }
        _ => format!("{name} {} {kind} '{}'", object(&id), shown(key)),
    }
}

fn snmp(config: &Config, query: &SnmpQuery) -> String {
    let device = &config.devices[query.device];
    let [input, output] = query.variables.each_ref().map(variable);
    let place = device.text.as_str();
    let place = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, options)) => format!("{host}{options}"),
        None => place.to_owned(),
    };
    format!(
        "{input} & {output} of '{}' at '{place}' by {} through '{}'",
        device.community,
        if device.is_ipv4_only { 4 } else { 46 },
        query.conversion.as_deref().unwrap_or_default()
    )
}

fn query(config: &Config, number: usize) -> String {
    match &config.queries[number] {
        Query::Program { command } => format!("command '{}'", shown(command)),
        Query::Snmp(query) | Query::Texts(query) => snmp(config, query),
    }
}

/// A number that both sides give a query.
fn value_of(query: &str) -> u64 {
    query.bytes().map(u64::from).sum::<u64>() % 997 + 1
}

fn result(config: &Config, target: &PollTarget) -> String {
    let Some(expression) = &target.expression else { return "wrong".to_owned() };
    let value = |number: usize| Some(Decimal::from(value_of(&query(config, number))));
    match expression.evaluate(&value) {
        // MRTG takes none that is longer.
        Ok(value) => Some(value.rounded().to_string())
            .filter(|text| text.len() <= 190)
            .unwrap_or_else(|| "unknown".to_owned()),
        Err(NoValue::Unknown | NoValue::Arithmetic(_)) => "unknown".to_owned(),
    }
}

fn number(value: f64) -> String {
    // As C's `%.6g` prints what configurations have.
    let text = format!("{value:.5}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(crate) fn config(config: &Config) -> String {
    let global = &config.global;
    let mut out = format!(
        "folders {} {} {} {}\ninterval {}\n",
        global.log_dir, global.html_dir, global.image_dir, global.image_link, global.interval_s
    );
    for target in &config.targets {
        let mut line = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                out.push_str(&format!("{} {key} '{}'\n", target.name, shown(value)));
            }
        };
        of_target(target, &mut line);
        let result = result(config, target);
        line("result", Some(&result));
        if let Some(expression) = &target.expression {
            let used = expression.values();
            let mut used: Vec<_> = used.into_iter().map(|one| query(config, one)).collect();
            used.sort();
            for query in used {
                // It is shown already.
                out.push_str(&format!("{} asks '{query}'\n", target.name));
            }
        }
    }
    out
}

fn of_target(target: &PollTarget, line: &mut dyn FnMut(&str, Option<&str>)) {
    line("title", Some(&target.title));
    line("pagetop", target.page_top.as_deref());
    line("pagefoot", target.page_foot.as_deref());
    line("addhead", target.add_head.as_deref());
    line("bodytag", target.body_tag.as_deref());
    line("extension", Some(&target.extension));
    line("directory", Some(&target.directory));
    line("textcolor", Some(&target.text_colour));
    line("kmg", target.kmg.as_deref());
    line("ylegend", target.y_legend.as_deref());
    line("shortlegend", target.short_legend.as_deref());
    for (number, legend) in (1..).zip(&target.legends) {
        line(&format!("legend{number}"), legend.as_deref());
    }
    line("legendi", target.legend_in.as_deref());
    line("legendo", target.legend_out.as_deref());
    line("pngtitle", target.png_title.as_deref());
    line("timezone", target.time_zone.as_deref());
    line("weekformat", target.week_format.as_deref());
    line("timestrfmt", Some(&target.stamp_format));
    line("background", Some(&target.background));
    line("maxbytes1", Some(&format!("{:.0}", target.max_bytes[0])));
    line("maxbytes2", Some(&format!("{:.0}", target.max_bytes[1])));
    line("kilo", Some(&target.kilo.to_string()));
    line("xsize", Some(&target.x_size.to_string()));
    line("ysize", Some(&target.y_size.to_string()));
    line("ytics", Some(&target.y_tics.to_string()));
    let factors = [
        ("xzoom", target.x_zoom),
        ("yzoom", target.y_zoom),
        ("xscale", target.x_scale),
        ("yscale", target.y_scale),
        ("yticsfactor", target.y_tics_factor),
        ("factor", target.factor),
    ];
    for (key, value) in factors {
        line(key, Some(&number(value)));
    }
    line("absmax", target.abs_max.map(|value| format!("{value:.0}")).as_deref());
    line("options", Some(&flags(target)));
    let mut colours: Vec<String> =
        target.colours.iter().map(|one| format!("{}{}", one.name, one.rgb)).collect();
    colours.resize(5, String::new());
    line("colours", Some(&colours.join(",")));
    let letters = |periods: &poll::Periods| {
        let all =
            [("d", periods.day), ("w", periods.week), ("m", periods.month), ("y", periods.year)];
        all.iter().filter(|(_, is_set)| *is_set).map(|(letter, _)| *letter).collect::<String>()
    };
    for (key, periods) in [("unscaled", &target.unscaled), ("suppress", &target.suppress)] {
        let text = letters(periods);
        line(key, Some(text.as_str()).filter(|text| !text.is_empty()));
    }
    line("withpeak", target.with_peak.as_ref().map(letters).as_deref());
    let position = format!("{:?}", target.stamp_position);
    let position = match position.as_str() {
        "LeftUpper" => "LU",
        "RightUpper" => "RU",
        "LeftLower" => "LL",
        "RightLower" => "RL",
        _ => "NO",
    };
    line("timestrpos", Some(position));
    for (kind, rules) in [("", &target.thresholds), ("hw", &target.hw_thresholds)] {
        let mut line = |key: &str, value: &Option<String>| {
            line(&format!("{kind}thresh{key}"), value.as_deref());
        };
        line("mini", &rules.minimum[0]);
        line("mino", &rules.minimum[1]);
        line("maxi", &rules.maximum[0]);
        line("maxo", &rules.maximum[1]);
        line("desc", &rules.description);
        line("progi", &rules.programs[0]);
        line("progo", &rules.programs[1]);
        line("progoki", &rules.programs_ok[0]);
        line("progoko", &rules.programs_ok[1]);
        line("mailaddress", &rules.mail_address);
    }
}

fn flags(target: &PollTarget) -> String {
    const FLAGS: &str = "growright bits noinfo absolute gauge nopercent avgpeak derive integer \
         perhour perminute transparent dorelpercent unknaszero withzeroes noborder noarrow noi noo \
         nobanner nolegend logscale secondmean pngdate printrouter expscale";
    let mut options = target.options;
    let set = FLAGS.split(' ').filter(|word| options.flag(word).is_some_and(|flag| *flag));
    set.collect::<Vec<_>>().join(" ")
}
