//! The paths of Prometheus's interface, and their answers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use http_server::{HttpAnswer, method_not_allowed, text_answer};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use promql::{
    Labels, QueryBudget, QueryContext, QueryError, QuerySteps, SeriesStorage, Stop, push_labels,
    push_text, write_answer,
};

use crate::clock::now_ms;
use crate::evaluation::{self, Evaluation};
use crate::metrics::{self, NewestSamples};
use crate::page::{self, Page};
use crate::parameters::{Parameters, invalid};

/// The version of the language and the interface, which Grafana asks for.
const PROMETHEUS_VERSION: &str = "2.42.0";

/// No sample is earlier or later; milliseconds since 1970.
const ALL_TIMES_MS: (i64, i64) = (-(1 << 50), 1 << 50);

/// What is asked, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    Query,
    QueryRange,
    Labels,
    LabelValues(String),
    Series,
    Metadata,
    BuildInfo,
    Exemplars,
    Metrics,
    Health,
}

impl Asked {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/-/healthy" | "/-/ready" => Asked::Health,
            "/metrics" => Asked::Metrics,
            _ => match path.strip_prefix("/api/v1/")? {
                "query" => Asked::Query,
                "query_range" => Asked::QueryRange,
                "labels" => Asked::Labels,
                "series" => Asked::Series,
                "metadata" => Asked::Metadata,
                "status/buildinfo" => Asked::BuildInfo,
                "query_exemplars" => Asked::Exemplars,
                other => {
                    let name = other.strip_prefix("label/")?.strip_suffix("/values")?;
                    Asked::LabelValues(name.to_owned())
                }
            },
        })
    }

    fn takes_forms(&self) -> bool {
        matches!(
            self,
            Asked::Query | Asked::QueryRange | Asked::Labels | Asked::Series | Asked::Exemplars
        )
    }
}

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) evaluation: Arc<Evaluation>,
    pub(crate) storage: Arc<dyn SeriesStorage>,
    pub(crate) newest: Arc<dyn NewestSamples>,
    pub(crate) page: Option<Arc<Page>>,
}

/// The answer to a request.
pub(crate) async fn answer(shared: &Arc<Shared>, request: &Request<Bytes>) -> HttpAnswer {
    if let Some(page) = &shared.page
        && let Some(answer) = page::answer(&shared.evaluation, page, request).await
    {
        return answer;
    }
    let Some(asked) = Asked::of(request.uri().path()) else {
        return text_answer(StatusCode::NOT_FOUND, "404 page not found\n");
    };
    let is_form = *request.method() == Method::POST && asked.takes_forms();
    if *request.method() != Method::GET && !is_form {
        return method_not_allowed(if asked.takes_forms() { "GET, POST" } else { "GET" });
    }
    match asked {
        Asked::Health => text_answer(StatusCode::OK, "whit is healthy.\n"),
        Asked::Metrics => {
            let most = shared.evaluation.settings.answer_bytes_max;
            metrics::answer(&shared.newest, request.headers(), most).await
        }
        asked => match parameters(request, is_form) {
            Ok(parameters) => data(data_of(shared, asked, parameters).await),
            Err(error) => data(Err(error)),
        },
    }
}

fn parameters(request: &Request<Bytes>, is_form: bool) -> Result<Parameters, QueryError> {
    let mut parameters = Parameters::default();
    if is_form {
        parameters.add(request.body())?;
    }
    parameters.add_query(request.uri())?;
    Ok(parameters)
}

/// The data of an answer of Prometheus's interface.
async fn data_of(
    shared: &Arc<Shared>,
    asked: Asked,
    parameters: Parameters,
) -> Result<String, QueryError> {
    let longest = shared.evaluation.settings.query_time_max;
    let longest = match parameters.get("timeout") {
        "" => longest,
        _ => parameters.duration("timeout")?.min(longest),
    };
    let own = shared.clone();
    evaluation::run(&shared.evaluation, longest, move |stop| {
        Evaluated { shared: &own, parameters: &parameters, stop: &**stop }.data(&asked)
    })
    .await
}

/// A request in a thread for queries.
struct Evaluated<'a> {
    shared: &'a Shared,
    parameters: &'a Parameters,
    stop: &'a dyn Fn() -> Option<Stop>,
}

impl Evaluated<'_> {
    fn data(&self, asked: &Asked) -> Result<String, QueryError> {
        let mut out = String::new();
        match asked {
            Asked::Query => {
                let time_ms = self.parameters.time_ms("time", Some(now_ms()))?;
                let query = self.parameters.get("query");
                let answer = promql::instant(query, time_ms, &self.context());
                write_answer(&answer.map_err(of_query)?, &mut out);
            }
            Asked::QueryRange => {
                let steps = self.steps()?;
                let query = self.parameters.get("query");
                let answer = promql::range(query, steps, &self.context());
                write_answer(&answer.map_err(of_query)?, &mut out);
            }
            Asked::Labels => {
                let series = self.series()?;
                let names = series.iter().flat_map(|labels| labels.iter().map(|(name, _)| name));
                self.push_texts(&names.collect(), &mut out)?;
            }
            Asked::LabelValues(name) => {
                let series = self.series()?;
                let values = series.iter().map(|labels| labels.get(name));
                self.push_texts(&values.filter(|value| !value.is_empty()).collect(), &mut out)?;
            }
            Asked::Series => {
                if self.parameters.all("match[]").next().is_none() {
                    let why = "no match[] parameter provided".to_owned();
                    return Err(QueryError::BadData(why));
                }
                let series = self.series()?;
                let most = self.most()?;
                push_list(series.iter().take(most), &mut out, |labels, out| {
                    push_labels(labels, out);
                });
            }
            Asked::Metadata => self.push_metadata(&mut out)?,
            Asked::Exemplars => out.push_str("[]"),
            Asked::BuildInfo => push_build_info(&mut out),
            Asked::Metrics | Asked::Health => {}
        }
        let most = self.shared.evaluation.settings.answer_bytes_max;
        if out.len() > most {
            let why =
                format!("the answer has more than {most} bytes: ask for less, or a longer step");
            return Err(QueryError::Execution(why));
        }
        Ok(out)
    }

    fn context(&self) -> QueryContext<'_> {
        let limits = self.shared.evaluation.settings.limits;
        QueryContext { storage: &*self.shared.storage, limits, stop: self.stop }
    }

    fn steps(&self) -> Result<QuerySteps, QueryError> {
        let start_ms = self.parameters.time_ms("start", None)?;
        let end_ms = self.parameters.time_ms("end", None)?;
        if end_ms < start_ms {
            return Err(invalid("end", "end timestamp must not be before start time"));
        }
        let step = self.parameters.duration("step")?;
        let step_ms = i64::try_from(step.as_millis()).unwrap_or(i64::MAX);
        if step_ms == 0 {
            let why = "zero or negative query resolution step widths are not accepted. Try a \
                       positive integer";
            return Err(invalid("step", why));
        }
        Ok(QuerySteps { start_ms, end_ms, step_ms })
    }

    /// The series that match any of the selectors, or all, in a period.
    fn series(&self) -> Result<BTreeSet<Arc<Labels>>, QueryError> {
        let from_ms = self.parameters.time_ms("start", Some(ALL_TIMES_MS.0))?;
        let to_ms = self.parameters.time_ms("end", Some(ALL_TIMES_MS.1))?;
        let budget = QueryBudget::new(self.shared.evaluation.settings.limits, self.stop);
        let mut found = BTreeSet::new();
        let mut any = false;
        for text in self.parameters.all("match[]") {
            any = true;
            let matchers = promql::selector(text).map_err(|error| match error {
                QueryError::BadData(why) => invalid("match[]", &why),
                other => other,
            })?;
            found.extend(self.shared.storage.series(&matchers, from_ms, to_ms, &budget)?);
        }
        if !any {
            found.extend(self.shared.storage.series(&[], from_ms, to_ms, &budget)?);
        }
        Ok(found)
    }

    /// How many entries of a list to show.
    fn most(&self) -> Result<usize, QueryError> {
        Ok(self.parameters.count("limit")?.unwrap_or(usize::MAX))
    }

    fn push_texts(&self, texts: &BTreeSet<&str>, out: &mut String) -> Result<(), QueryError> {
        let most = self.most()?;
        push_list(texts.iter().take(most), out, |text, out| push_text(text, out));
        Ok(())
    }

    fn push_metadata(&self, out: &mut String) -> Result<(), QueryError> {
        let metadata = self.shared.storage.metadata();
        let only = self.parameters.get("metric");
        let chosen = metadata.iter().filter(|one| only.is_empty() || one.name == only);
        let most = self.most()?;
        out.push('{');
        for (index, one) in chosen.take(most).enumerate() {
            if index > 0 {
                out.push(',');
            }
            push_text(&one.name, out);
            let _ = write!(out, ":[{{\"type\":\"{}\",\"help\":", one.kind);
            push_text(&one.help, out);
            out.push_str(",\"unit\":");
            push_text(&one.unit, out);
            out.push_str("}]");
        }
        out.push('}');
        Ok(())
    }
}

/// A query that is not valid is a parameter that is not.
fn of_query(error: QueryError) -> QueryError {
    match error {
        QueryError::BadData(why) if why.starts_with("parse error") => invalid("query", &why),
        other => other,
    }
}

fn push_build_info(out: &mut String) {
    let version = env!("CARGO_PKG_VERSION");
    let _ = write!(
        out,
        "{{\"version\":\"{PROMETHEUS_VERSION}\",\"revision\":\"whit {version}\",\"branch\":\"\",\
         \"buildUser\":\"\",\"buildDate\":\"\",\"goVersion\":\"\"}}"
    );
}

fn push_list<T>(items: impl Iterator<Item = T>, out: &mut String, push: impl Fn(T, &mut String)) {
    out.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        push(item, out);
    }
    out.push(']');
}

/// An answer of the interface: its data, or an error.
fn data(result: Result<String, QueryError>) -> HttpAnswer {
    let (status, body) = match result {
        Ok(data) => (StatusCode::OK, format!("{{\"status\":\"success\",\"data\":{data}}}")),
        Err(error) => {
            let status = evaluation::status(&error);
            let mut body =
                format!("{{\"status\":\"error\",\"errorType\":\"{}\",\"error\":", error.kind());
            push_text(&error.to_string(), &mut body);
            body.push('}');
            (status, body)
        }
    };
    http_server::answer(status, "application/json", body)
}
