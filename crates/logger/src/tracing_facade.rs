//! The adapter for `tracing`: a layer that writes events into the rings.
//!
//! The target is the logger's name.  Fields are attributes with their types, those of the spans
//! around an event too; `span` is the path of their names.

use std::fmt::{Debug, Write as _};

use logring::{LogLevel, LogValue};
use tracing_core::field::{Field, Visit};
use tracing_core::{Event, Level, Subscriber, span};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::facade::{self, CallSite};

/// A layer for `tracing_subscriber::registry()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingLayer;

/// A field's value.
#[derive(Debug)]
enum FieldValue {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Bool(bool),
    Text(String),
}

impl FieldValue {
    fn value(&self) -> LogValue<'_> {
        match self {
            FieldValue::Signed(number) => LogValue::Signed(*number),
            FieldValue::Unsigned(number) => LogValue::Unsigned(*number),
            FieldValue::Float(number) => LogValue::Float(*number),
            FieldValue::Bool(is) => LogValue::Bool(*is),
            FieldValue::Text(text) => LogValue::Text(text.as_bytes()),
        }
    }
}

/// The fields of an event or a span.
#[derive(Debug, Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, FieldValue)>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: FieldValue) {
        match value {
            FieldValue::Text(text) if field.name() == "message" => self.message = text,
            // Recorded again: the later value holds.
            value => match self.others.iter_mut().find(|(name, _)| *name == field.name()) {
                Some((_, known)) => *known = value,
                None => self.others.push((field.name(), value)),
            },
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, FieldValue::Float(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, FieldValue::Signed(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, FieldValue::Unsigned(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, FieldValue::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, FieldValue::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        // A value that cannot be shown leaves what it has shown so far.
        let _ = write!(text, "{value:?}");
        self.put(field, FieldValue::Text(text));
    }
}

fn level_of(level: Level) -> LogLevel {
    match level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warning,
        Level::INFO => LogLevel::Info,
        Level::DEBUG => LogLevel::Debug,
        Level::TRACE => LogLevel::Trace,
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for TracingLayer {
    fn on_new_span(
        &self,
        attributes: &span::Attributes<'_>,
        id: &span::Id,
        context: Context<'_, S>,
    ) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        // Not by `enabled`, which would switch the event off for other layers too.
        if !facade::is_enabled(metadata.target(), level_of(*metadata.level())) {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let (mut path, mut of_spans) = (String::new(), Vec::new());
        let scope = context.event_scope(event).into_iter();
        for span in scope.flat_map(tracing_subscriber::registry::Scope::from_root) {
            if !path.is_empty() {
                path.push(':');
            }
            path.push_str(span.name());
            if let Some(fields) = span.extensions().get::<Fields>() {
                let shown = fields.others.iter();
                of_spans.extend(shown.map(|(name, kept)| (*name, copy(kept))));
            }
        }
        let own = fields.others.iter().chain(&of_spans);
        let mut attributes: Vec<(&str, LogValue<'_>)> =
            own.map(|(name, kept)| (*name, kept.value())).collect();
        if !path.is_empty() {
            attributes.push(("span", LogValue::Text(path.as_bytes())));
        }
        let place = CallSite {
            file: metadata.file().unwrap_or_default(),
            line: metadata.line().unwrap_or(0),
            module: metadata.module_path().unwrap_or_default(),
            target: metadata.target(),
            level: level_of(*metadata.level()),
        };
        facade::write(&place, &fields.message, &attributes);
    }
}

fn copy(kept: &FieldValue) -> FieldValue {
    match kept {
        FieldValue::Signed(number) => FieldValue::Signed(*number),
        FieldValue::Unsigned(number) => FieldValue::Unsigned(*number),
        FieldValue::Float(number) => FieldValue::Float(*number),
        FieldValue::Bool(is) => FieldValue::Bool(*is),
        FieldValue::Text(text) => FieldValue::Text(text.clone()),
    }
}
