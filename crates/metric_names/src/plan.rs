//! What a selector asks of a source: the metrics by their names, and the fields that they need.

use std::collections::HashSet;
use std::sync::Arc;

use promql::{Labels, MatchOp, Matcher, NAME};
use sample::{Kind, Meta, SourceDef};
use view::{FieldMetric, instance_parts, own_label};

use crate::names::{MACHINE, MetricValue, is_known_metric, known};

/// The label `job` of all series.
pub const JOB: &str = "whit";

/// What tells the metrics of a host apart: the name, and the label of the field if it has one.
pub type NamesOfHost = HashSet<(String, Option<(&'static str, &'static str)>)>;

/// What is asked of a source.
pub struct SourcePlan {
    /// The source.
    pub def: Arc<SourceDef>,
    /// What is asked of it.
    pub metrics: Vec<MetricPlan>,
    /// The fields to read: those of the metrics, and texts that are labels.
    pub fields: Vec<String>,
    /// Which of them are texts.
    pub texts: Vec<usize>,
}

/// A field that is asked for, the texts of a source, or a fact of the machine.
pub struct MetricPlan {
    name: String,
    /// Where its value is from.
    pub value: MetricValue,
    /// The label that tells this field from others of the metric.
    label: Option<(&'static str, &'static str)>,
    /// The label of its instances, by node_exporter's table.
    instance: Option<&'static str>,
    /// Texts that are labels: the index among the fields to read, and the label.
    texts: Vec<(usize, String)>,
    /// Facts of the recording that are labels: the fact and the label.
    facts: &'static [(&'static str, &'static str)],
}

impl SourcePlan {
    /// What is asked, by the names of metrics alone.  Two fields of one name would be one series with
    /// two values: `names` has those of the sources before that are asked for.
    pub fn new(def: &Arc<SourceDef>, matchers: &[Matcher], names: &mut NamesOfHost) -> Self {
        let mut plan =
            SourcePlan { def: def.clone(), metrics: vec![], fields: vec![], texts: vec![] };
        if !may_be_asked(def, matchers) {
            return plan;
        }
        let mut info = None;
        for field in def.fields.iter() {
            let metric = FieldMetric::of(def, field);
            if metric.kind == Kind::Text {
                info = Some(metric.name);
                continue;
            }
            let found = known(&def.name, &field.name);
            let label = found.filter(|(_, _, value)| !value.is_empty());
            let label = label.map(|(known, _, value)| (known.label, value));
            let name = found.map_or(metric.name, |(_, name, _)| name.to_owned());
            if is_asked(matchers, NAME, &name) && names.insert((name.clone(), label)) {
                let texts = found.map_or(&[][..], |(known, ..)| known.texts);
                let texts =
                    texts.iter().map(|(text, label)| (plan.text(text), (*label).to_owned()));
                let texts = texts.collect();
                let value = MetricValue::Field(plan.place(&field.name));
                let instance = found.map(|(known, ..)| known.instance);
                plan.metrics.push(MetricPlan { name, value, label, instance, texts, facts: &[] });
            }
        }
        if let Some(name) = info.filter(|name| is_asked(matchers, NAME, name)) {
            let of_text = def.fields.iter().filter(|field| field.kind == Kind::Text);
            let texts =
                of_text.map(|text| (plan.text(&text.name), own_label(&text.name).into_owned()));
            let texts = texts.collect();
            plan.metrics.push(MetricPlan { texts, ..MetricPlan::new(name, MetricValue::Info) });
        }
        plan
    }

    /// Asks for what is known of the machine, with a source that has one row.
    pub fn add_machine(&mut self, matchers: &[Matcher]) {
        let asked = MACHINE.iter().filter(|one| is_asked(matchers, NAME, one.name));
        self.metrics.extend(asked.map(|one| MetricPlan {
            facts: one.facts,
            ..MetricPlan::new(one.name.to_owned(), one.value)
        }));
    }

    /// The index of a field among those to read.
    fn place(&mut self, field: &str) -> usize {
        let known = self.fields.iter().position(|known| known == field);
        known.unwrap_or_else(|| {
            self.fields.push(field.to_owned());
            self.fields.len() - 1
        })
    }

    fn text(&mut self, field: &str) -> usize {
        let place = self.place(field);
        if !self.texts.contains(&place) {
            self.texts.push(place);
        }
        place
    }

    /// Whether a series of an instance may match, whatever its texts are.
    pub fn may_match(&self, matchers: &[Matcher], host: &str, name: &[u8]) -> bool {
        self.metrics.iter().any(|metric| {
            let labels = metric.labels(&self.def, host, name, |_| String::new(), None);
            let is_text = |name: &str| {
                metric.texts.iter().any(|(_, label)| label == name)
                    || metric.facts.iter().any(|(_, label)| *label == name)
            };
            let mut known = matchers.iter().filter(|matcher| !is_text(&matcher.name));
            known.all(|matcher| matcher.is_match(labels.get(&matcher.name)))
        })
    }
}

impl MetricPlan {
    fn new(name: String, value: MetricValue) -> Self {
        MetricPlan { name, value, label: None, instance: None, texts: Vec::new(), facts: &[] }
    }

    /// The labels of an instance: the host, what names the instance, texts, and facts of the
    /// recording.
    pub fn labels(
        &self,
        def: &SourceDef,
        host: &str,
        name: &[u8],
        text: impl Fn(usize) -> String,
        meta: Option<&Meta>,
    ) -> Labels {
        let mut labels = Labels::default();
        for (label, part) in def.instance.iter().zip(instance_parts(name)) {
            let label = self.instance.map_or_else(|| own_label(label).into_owned(), str::to_owned);
            labels.set(&label, &part);
        }
        labels.set("instance", host);
        labels.set("job", JOB);
        labels.set(NAME, &self.name);
        for (field, label) in &self.texts {
            labels.set(label, &text(*field));
        }
        for (fact, label) in self.facts {
            let value = meta.and_then(|meta| meta.get(fact)).unwrap_or_default();
            labels.set(label, value);
        }
        if let Some((label, value)) = self.label {
            labels.set(label, value);
        }
        labels
    }
}

impl MetricPlan {
    /// The name of the metric.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Texts that are labels: the index among the fields to read, and the label.
    #[must_use]
    pub fn texts(&self) -> &[(usize, String)] {
        &self.texts
    }

    /// The name of the row that a series is of, if it is one of this metric: what [`labels`](Self::labels)
    /// makes labels of.
    #[must_use]
    pub fn row_of(&self, def: &SourceDef, labels: &Labels) -> Option<Vec<u8>> {
        let is_field = self.label.is_none_or(|(label, value)| labels.get(label) == value);
        let is_it = is_field && labels.get(NAME) == self.name && labels.get("job") == JOB;
        let label = |own: &str| match self.instance {
            Some(label) => label.to_owned(),
            None => own_label(own).into_owned(),
        };
        let parts = def.instance.iter().map(|own| labels.get(&label(own)).as_bytes());
        is_it.then(|| parts.collect::<Vec<_>>().join(&SourceDef::INSTANCE_SEPARATOR))
    }
}

/// Whether a source may have a metric of the name that is asked for.  Most selectors ask for one, and to
/// make the names of all fields of all sources would cost more than to read the answer.
fn may_be_asked(def: &SourceDef, matchers: &[Matcher]) -> bool {
    let is_name = |one: &&Matcher| one.name == NAME && one.op == MatchOp::Equal;
    matchers.iter().filter(is_name).all(|one| {
        FieldMetric::may_be_of(def, &one.value) || is_known_metric(&def.name, &one.value)
    })
}

/// Whether the matchers of a label take a value.
pub fn is_asked(matchers: &[Matcher], label: &str, value: &str) -> bool {
    let mut of_label = matchers.iter().filter(|matcher| matcher.name == label);
    of_label.all(|matcher| matcher.is_match(value))
}

/// Whether any series of a host may match.
pub fn is_host_asked(matchers: &[Matcher], host: &str) -> bool {
    is_asked(matchers, "instance", host) && is_asked(matchers, "job", JOB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_is_asked_for_by_its_name_is_found() {
        let mut count = 0;
        for def in &source::definitions() {
            let plan = |matchers: &[Matcher]| -> Vec<String> {
                let plan = SourcePlan::new(def, matchers, &mut NamesOfHost::new());
                plan.metrics.into_iter().map(|metric| metric.name).collect()
            };
            let all = plan(&[]);
            for name in &all {
                let found = plan(&[Matcher::new(MatchOp::Equal, NAME, name)]);
                let same: Vec<&String> = all.iter().filter(|one| *one == name).collect();
                assert!(found.iter().eq(same), "{name}: {found:?}");
                count += found.len();
            }
            let other = format!("whit_{}x_total", def.name);
            assert!(plan(&[Matcher::new(MatchOp::Equal, NAME, &other)]).is_empty());
        }
        assert!(count > 500, "{count}");
    }
}
