//! The form of a program in a file: twenty nodes of four bytes in the parameters of a data source
//! of type COMPUTE.
//!
//! A node is the operator's number (one byte), a byte of padding, and an integer of two bytes: the
//! constant, or the index of the data source.  The last node is the end, number 32.

use crate::operator::{END, NUMBER, PREVIOUS_OF, VARIABLE};
use crate::{Node, Operator, Program, ProgramError};

/// Nodes in a file, with the end.
pub const NODES: usize = 20;

/// Bytes of a node in a file.
pub const NODE_BYTES: usize = 4;

/// A node in a file.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CompactNode {
    /// The number of the operator.
    pub operator: u8,
    /// A constant or the index of a data source.
    pub value: i16,
}

impl CompactNode {
    /// Reads the node of a file of a little-endian machine.
    pub fn from_le_bytes(bytes: [u8; NODE_BYTES]) -> Self {
        CompactNode { operator: bytes[0], value: i16::from_le_bytes([bytes[2], bytes[3]]) }
    }

    /// Reads the node of a file of a big-endian machine.
    pub fn from_be_bytes(bytes: [u8; NODE_BYTES]) -> Self {
        CompactNode { operator: bytes[0], value: i16::from_be_bytes([bytes[2], bytes[3]]) }
    }

    /// For a file of a little-endian machine.
    pub fn to_le_bytes(self) -> [u8; NODE_BYTES] {
        let value = self.value.to_le_bytes();
        [self.operator, 0, value[0], value[1]]
    }

    /// For a file of a big-endian machine.
    pub fn to_be_bytes(self) -> [u8; NODE_BYTES] {
        let value = self.value.to_be_bytes();
        [self.operator, 0, value[0], value[1]]
    }
}

impl Program {
    /// Parses the expression of a data source of type COMPUTE and checks that it fits into a file.
    ///
    /// # Errors
    /// With RRDtool's text, in its order: the expression cannot be parsed, it has an operator of
    /// series, it has more than 19 nodes, it has a number that is no integer of 16 bits.
    pub fn parse_compute(
        text: &str,
        index_of: impl FnMut(&str) -> Option<usize>,
    ) -> Result<(Self, [CompactNode; NODES]), ProgramError> {
        let program = Program::parse(text, index_of).map_err(|_| ProgramError::Compute)?;
        let has_series = program
            .nodes
            .iter()
            .any(|node| matches!(node, Node::Operator(operator) if operator.needs_series()));
        if has_series {
            return Err(ProgramError::NotForCompute);
        }
        let compact = program.to_compact()?;
        Ok((program, compact))
    }

    /// The form in a file, filled up with zeros after the end.
    ///
    /// # Errors
    /// More than 19 nodes; a number or an index that is no integer of 16 bits.
    pub fn to_compact(&self) -> Result<[CompactNode; NODES], ProgramError> {
        let count = self.nodes.len();
        if count >= NODES {
            return Err(ProgramError::TooLong { max: NODES - 1, count });
        }
        let mut compact = [CompactNode::default(); NODES];
        compact[count].operator = END;
        for (place, node) in compact.iter_mut().zip(&self.nodes) {
            *place = compact_node(node)?;
        }
        Ok(compact)
    }

    /// Reads the form in a file.
    ///
    /// # Errors
    /// A number that is no operator, a negative index, no end.  Whether the data sources exist is
    /// for the caller to check ([`Program::variables`]).
    pub fn from_compact(compact: &[CompactNode]) -> Result<Self, ProgramError> {
        let mut nodes = Vec::new();
        for (position, node) in compact.iter().enumerate() {
            let index = || {
                let bad = ProgramError::BadVariable { position, index: node.value };
                usize::try_from(node.value).map_err(|_| bad)
            };
            let bad = ProgramError::BadOperator { position, operator: node.operator };
            nodes.push(match node.operator {
                END => return Ok(Program { nodes }),
                NUMBER => Node::Number(f64::from(node.value)),
                VARIABLE => Node::Variable(index()?),
                PREVIOUS_OF => Node::PreviousOf(index()?),
                number => Node::Operator(Operator::by_number(number).ok_or(bad)?),
            });
        }
        Err(ProgramError::NoEnd)
    }
}

fn compact_node(node: &Node) -> Result<CompactNode, ProgramError> {
    let index = |index: usize| i16::try_from(index).map_err(|_| ProgramError::NotAnInteger);
    Ok(match *node {
        Node::Number(number) => {
            let is_integer = number == number.floor()
                && (f64::from(i16::MIN)..=f64::from(i16::MAX)).contains(&number);
            if !is_integer {
                return Err(ProgramError::NotAnInteger);
            }
            CompactNode { operator: NUMBER, value: number as i16 }
        }
        Node::Variable(variable) => CompactNode { operator: VARIABLE, value: index(variable)? },
        Node::PreviousOf(variable) => {
            CompactNode { operator: PREVIOUS_OF, value: index(variable)? }
        }
        Node::Operator(operator) => CompactNode { operator: operator as u8, value: 0 },
    })
}
