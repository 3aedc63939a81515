//! The paths of Prometheus's interface, and their answers.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use http_server::{AnswerBody, HttpAnswer, method_not_allowed, text_answer};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use promql::{
    AnswerWriter, Labels, Metadata, QueryBudget, QueryContext, QueryError, QuerySteps, QueryValue,
    SeriesStorage, answer_fits, write_labels, write_text,
};

use crate::clock::now_ms;
use crate::evaluation::{self, Evaluation};
use crate::memory::QueryTurn;
use crate::metrics::{self, NewestSamples};
use crate::page::{self, Page};
use crate::parameters::{Parameters, invalid};

/// The version of the language and the interface, which Grafana asks for.
const PROMETHEUS_VERSION: &str = "2.42.0";

/// No sample is earlier or later; milliseconds since 1970.
const ALL_TIMES_MS: (i64, i64) = (-(1 << 50), 1 << 50);

/// What stands before and after the data of an answer: of one object, a list, and an object with members.
const AROUND: [&str; 2] = ["{\"status\":\"success\",\"data\":", "}"];
const AROUND_LIST: [&str; 2] = ["{\"status\":\"success\",\"data\":[", "]}"];
const AROUND_MEMBERS: [&str; 2] = ["{\"status\":\"success\",\"data\":{", "}}"];

/// What is asked, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Endpoint {
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

impl Endpoint {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/-/healthy" | "/-/ready" => Endpoint::Health,
            "/metrics" => Endpoint::Metrics,
            _ => match path.strip_prefix("/api/v1/")? {
                "query" => Endpoint::Query,
                "query_range" => Endpoint::QueryRange,
                "labels" => Endpoint::Labels,
                "series" => Endpoint::Series,
                "metadata" => Endpoint::Metadata,
                "status/buildinfo" => Endpoint::BuildInfo,
                "query_exemplars" => Endpoint::Exemplars,
                other => {
                    let name = other.strip_prefix("label/")?.strip_suffix("/values")?;
                    Endpoint::LabelValues(name.to_owned())
                }
            },
        })
    }

    fn takes_forms(&self) -> bool {
        matches!(
            self,
            Endpoint::Query
                | Endpoint::QueryRange
                | Endpoint::Labels
                | Endpoint::Series
                | Endpoint::Exemplars
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
    let Some(asked) = Endpoint::of(request.uri().path()) else {
        return text_answer(StatusCode::NOT_FOUND, "404 page not found\n");
    };
    let is_form = *request.method() == Method::POST && asked.takes_forms();
    if *request.method() != Method::GET && !is_form {
        return method_not_allowed(if asked.takes_forms() { "GET, POST" } else { "GET" });
    }
    match asked {
        Endpoint::Health => text_answer(StatusCode::OK, "whit is healthy.\n"),
        Endpoint::Metrics => {
            metrics::answer(&shared.newest, request.headers(), &shared.evaluation.memory).await
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

/// The answer of Prometheus's interface.
async fn data_of(
    shared: &Arc<Shared>,
    asked: Endpoint,
    parameters: Parameters,
) -> Result<AnswerBody, QueryError> {
    let longest = shared.evaluation.settings.query_time_max;
    let longest = match parameters.get("timeout") {
        "" => longest,
        _ => parameters.duration("timeout")?.min(longest),
    };
    let own = shared.clone();
    evaluation::run(&shared.evaluation, longest, move |stop| {
        let turn = QueryTurn::new(&own.evaluation.memory, stop);
        Evaluated { shared: &own, parameters: &parameters, turn: &turn }.answer(&asked)
    })
    .await
}

/// A request in a thread for queries.
struct Evaluated<'a> {
    shared: &'a Shared,
    parameters: &'a Parameters,
    turn: &'a QueryTurn,
}

impl Evaluated<'_> {
    fn answer(&self, asked: &Endpoint) -> Result<AnswerBody, QueryError> {
        match asked {
            Endpoint::Query => {
                let time_ms = self.parameters.time_ms("time", Some(now_ms()))?;
                let query = self.parameters.get("query");
                self.body_of(promql::instant(query, time_ms, &self.context()).map_err(of_query)?)
            }
            Endpoint::QueryRange => {
                let steps = self.steps()?;
                let query = self.parameters.get("query");
                self.body_of(promql::range(query, steps, &self.context()).map_err(of_query)?)
            }
            Endpoint::Labels => {
                let (series, bytes) = self.series()?;
                let names = series.iter().flat_map(|labels| labels.iter().map(|(name, _)| name));
                self.texts(names.collect(), bytes)
            }
            Endpoint::LabelValues(name) => {
                let (series, bytes) = self.series()?;
                let values = series.iter().map(|labels| labels.get(name));
                self.texts(values.filter(|value| !value.is_empty()).collect(), bytes)
            }
            Endpoint::Series => {
                if self.parameters.all("match[]").next().is_none() {
                    let why = "no match[] parameter provided".to_owned();
                    return Err(QueryError::BadData(why));
                }
                let (series, bytes) = self.series()?;
                let series: Vec<Arc<Labels>> = series.into_iter().take(self.most()?).collect();
                // A string takes everything.
                self.list(AROUND_LIST, (series, bytes), |labels, out| {
                    let _ = write_labels(labels, out);
                })
            }
            Endpoint::Metadata => self.metadata(),
            Endpoint::BuildInfo => Ok(build_info().into()),
            // The last two are answered elsewhere.
            Endpoint::Exemplars | Endpoint::Metrics | Endpoint::Health => {
                Ok(AROUND_LIST.concat().into())
            }
        }
    }

    /// The body of an answer to a query: its series become text while the client takes it, when the
    /// query is over and its place is another's.
    fn body_of(&self, answer: QueryValue) -> Result<AnswerBody, QueryError> {
        let [mut begin, end] = AROUND;
        let room = self.bytes_max().checked_sub(begin.len() + end.len());
        if !room.is_some_and(|most| answer_fits(&answer, most)) {
            return Err(self.too_long());
        }
        let bytes = answer.size_bytes();
        let mut writer = AnswerWriter::new(answer);
        self.turn.written(bytes, move |text| {
            text.push_str(std::mem::take(&mut begin));
            // A string takes everything.
            let is_more = writer.write_next(text).unwrap_or(false);
            text.push_str(if is_more { "" } else { end });
            is_more
        })
    }

    /// The body of a list that is made of what takes so many bytes.
    fn list<T: Send + 'static>(
        &self,
        around: [&'static str; 2],
        items: (Vec<T>, usize),
        write: fn(&T, &mut String),
    ) -> Result<AnswerBody, QueryError> {
        let body = self.turn.list(around, items, self.bytes_max(), write)?;
        body.ok_or_else(|| self.too_long())
    }

    fn bytes_max(&self) -> usize {
        self.shared.evaluation.settings.answer_bytes_max
    }

    fn too_long(&self) -> QueryError {
        QueryError::Execution(format!(
            "the answer has more than {} bytes: ask for less, or a longer step",
            self.bytes_max()
        ))
    }

    fn context(&self) -> QueryContext<'_> {
        let limits = self.shared.evaluation.settings.limits;
        QueryContext { storage: &*self.shared.storage, limits, control: self.turn }
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

    /// The series that match any of the selectors, or all, in a period; and the bytes that they take.
    fn series(&self) -> Result<(BTreeSet<Arc<Labels>>, usize), QueryError> {
        let from_ms = self.parameters.time_ms("start", Some(ALL_TIMES_MS.0))?;
        let to_ms = self.parameters.time_ms("end", Some(ALL_TIMES_MS.1))?;
        let budget = QueryBudget::new(self.shared.evaluation.settings.limits, self.turn);
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
        Ok((found, budget.bytes()))
    }

    /// How many entries of a list to show.
    fn most(&self) -> Result<usize, QueryError> {
        Ok(self.parameters.count("limit")?.unwrap_or(usize::MAX))
    }

    /// A list of texts, of series that take so many bytes.
    fn texts(&self, texts: BTreeSet<&str>, bytes: usize) -> Result<AnswerBody, QueryError> {
        let texts: Vec<Box<str>> = texts.into_iter().take(self.most()?).map(Box::from).collect();
        // A string takes everything.
        self.list(AROUND_LIST, (texts, bytes), |text, out| {
            let _ = write_text(text, out);
        })
    }

    /// What metrics are: an object with a list of one for each.
    fn metadata(&self) -> Result<AnswerBody, QueryError> {
        let mut metadata = self.shared.storage.metadata();
        let only = self.parameters.get("metric");
        metadata.retain(|one| only.is_empty() || one.name == only);
        metadata.truncate(self.most()?);
        let texts = metadata.iter().map(|one| one.name.len() + one.help.len() + one.unit.len());
        let bytes = texts.sum();
        // A string takes everything.
        self.list(AROUND_MEMBERS, (metadata, bytes), |one, out| {
            let _ = write_metadata(one, out);
        })
    }
}

/// A query that is not valid is a parameter that is not.
fn of_query(error: QueryError) -> QueryError {
    match error {
        QueryError::BadData(why) if why.starts_with("parse error") => invalid("query", &why),
        other => other,
    }
}

/// Writes what a metric is.
fn write_metadata(one: &Metadata, out: &mut String) -> fmt::Result {
    write_text(&one.name, out)?;
    write!(out, ":[{{\"type\":\"{}\",\"help\":", one.kind)?;
    write_text(&one.help, out)?;
    out.write_str(",\"unit\":")?;
    write_text(&one.unit, out)?;
    out.write_str("}]")
}

fn build_info() -> String {
    let ([begin, end], version) = (AROUND, env!("CARGO_PKG_VERSION"));
    format!(
        "{begin}{{\"version\":\"{PROMETHEUS_VERSION}\",\"revision\":\"whit {version}\",\"branch\":\"\",\
         \"buildUser\":\"\",\"buildDate\":\"\",\"goVersion\":\"\"}}{end}"
    )
}

/// An answer of the interface, or an error.
fn data(result: Result<AnswerBody, QueryError>) -> HttpAnswer {
    let (status, body) = match result {
        Ok(body) => (StatusCode::OK, body),
        Err(error) => {
            let status = evaluation::status(&error);
            let mut text = String::new();
            // A string takes everything.
            let _ = write_text(&error.to_string(), &mut text);
            let kind = error.kind();
            let body =
                format!("{{\"status\":\"error\",\"errorType\":\"{kind}\",\"error\":{text}}}");
            (status, body.into())
        }
    };
    http_server::answer(status, "application/json", body)
}
