//! Computed data sources: their expression in a file, and its value.

use rpn::compact::{CompactNode, NODE_BYTES, NODES};
use rpn::{Program, Stack};

use crate::error::{Result, refuse};
use crate::header::{RrdHeader, SourceKind, StoredDataSource, Values};
use crate::layout::VALUES;
use crate::number::UNKNOWN;

/// Reads an expression, which may use the sources before it.
pub(crate) fn parse(text: &str, known: &[StoredDataSource]) -> Result<Values> {
    let index_of = |name: &str| known.iter().position(|source| source.name == name);
    let (_, nodes) = Program::parse_compute(text, index_of).map_err(|error| refuse!("{error}"))?;
    Ok(values_of(&nodes))
}

/// Nodes as they stand in the parameters of a source.
fn values_of(nodes: &[CompactNode; NODES]) -> Values {
    let mut values = Values::default();
    for (value, pair) in values.iter_mut().zip(nodes.chunks_exact(8 / NODE_BYTES)) {
        let mut bytes = [0; 8];
        for (slot, node) in bytes.chunks_exact_mut(NODE_BYTES).zip(pair) {
            slot.copy_from_slice(&node.to_le_bytes());
        }
        *value = u64::from_le_bytes(bytes);
    }
    values
}

fn nodes_of(values: &Values) -> [CompactNode; NODES] {
    const PER_VALUE: usize = 8 / NODE_BYTES;
    const { assert!(NODES == VALUES * PER_VALUE) };
    std::array::from_fn(|index| {
        let bytes = values[index / PER_VALUE].to_le_bytes();
        let mut node = [0; NODE_BYTES];
        let start = index % PER_VALUE * NODE_BYTES;
        node.copy_from_slice(&bytes[start..start + NODE_BYTES]);
        CompactNode::from_le_bytes(node)
    })
}

/// The program of a computed source, the `index`th of a file.
fn program(source: &StoredDataSource, index: usize) -> Result<Program> {
    let refused = |what: String| refuse!("data source {}: {what}", source.name);
    let program = Program::from_compact(&nodes_of(&source.values))
        .map_err(|error| refused(error.to_string()))?;
    let late = program.variables().find(|variable| *variable >= index);
    match late {
        Some(variable) => Err(refused(format!("it uses source {variable}, which comes later"))),
        None => Ok(program),
    }
}

/// Refuses a computed source, the `index`th of a file, whose expression cannot be evaluated:
/// neither with unknown values nor with known ones.
pub(crate) fn check(source: &StoredDataSource, index: usize) -> Result<()> {
    let program = program(source, index)?;
    let mut stack = Stack::default();
    let mut evaluate = |value| program.evaluate(&mut stack, &vec![value; index], 0.0);
    let refused = |error| refuse!("data source {}: {error}", source.name);
    evaluate(UNKNOWN).or_else(|_| evaluate(1.0)).map(drop).map_err(refused)
}

/// The expression of a source as text; what is no expression is empty.
pub(crate) fn text(source: &StoredDataSource, sources: &[StoredDataSource]) -> String {
    let Ok(program) = Program::from_compact(&nodes_of(&source.values)) else {
        return String::new();
    };
    program.to_text(|index| sources.get(index).map_or("", |source| source.name.as_str()))
}

/// The programs of all computed sources of a file.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// For each source; empty if there is none at all.
    programs: Vec<Option<Program>>,
    stack: Stack,
}

impl Programs {
    /// Reads the programs of a file.
    pub(crate) fn read(&mut self, header: &RrdHeader) -> Result<()> {
        self.programs.clear();
        if header.sources.iter().all(|source| source.kind != SourceKind::Compute) {
            return Ok(());
        }
        for (index, source) in header.sources.iter().enumerate() {
            let is_computed = source.kind == SourceKind::Compute;
            self.programs.push(if is_computed { Some(program(source, index)?) } else { None });
        }
        Ok(())
    }

    /// Whether no source is computed.
    pub(crate) fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// The value of a source at the end of a step, from those of the sources before it.
    pub(crate) fn evaluate(
        &mut self,
        index: usize,
        points: &[f64],
        now: impl FnOnce() -> f64,
    ) -> Result<Option<f64>> {
        let Some(Some(program)) = self.programs.get(index) else { return Ok(None) };
        let value = program.evaluate(&mut self.stack, points, now());
        value.map(Some).map_err(|error| refuse!("{error}"))
    }
}

/// Removes a source; expressions that name later ones are adapted.
pub(crate) fn remove(sources: &mut Vec<StoredDataSource>, index: usize) -> Result<()> {
    let mut adapted = Vec::new();
    for (at, source) in sources.iter().enumerate().skip(index + 1) {
        if source.kind != SourceKind::Compute {
            continue;
        }
        let program = program(source, at)?;
        if program.variables().any(|variable| variable == index) {
            let (user, removed) = (&source.name, &sources[index].name);
            return Err(refuse!("data source {user} is computed from {removed}"));
        }
        let text = program.to_text(|variable| sources[variable].name.as_str());
        adapted.push((at - 1, text));
    }
    sources.remove(index);
    for (at, text) in adapted {
        sources[at].values = parse(&text, &sources[..at])?;
    }
    Ok(())
}
