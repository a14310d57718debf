//! `.nv.callgraph`: who calls whom, as pairs of 32-bit words.
//!
//! The pairs fall into four parts, each introduced by a mark `(0, -n)`. The
//! marks are written even where a part is empty.

use super::pairs;
use crate::error::ParseError;

/// A call or an address reference from one function to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// Symbol of the function the reference is in.
    pub from: u32,
    /// Symbol of the function it is to.
    pub to: u32,
}

/// A function and the text of a prototype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature {
    /// Symbol of the function.
    pub function: u32,
    /// Where the prototype starts in the string table.
    pub prototype: u32,
}

/// A whole section, each part in file order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallGraph {
    /// Part -1: direct calls.
    pub calls: Vec<Edge>,
    /// Part -2: functions whose address is taken, with their own prototype.
    pub address_taken: Vec<Signature>,
    /// Part -3: functions that call through a pointer, with the prototype of
    /// what they call.
    pub indirect_calls: Vec<Signature>,
    /// Part -4: functions that refer to another function's address.
    pub address_references: Vec<Edge>,
}

impl CallGraph {
    /// The mark before [`Self::calls`].
    pub const CALLS: i32 = -1;
    /// The mark before [`Self::address_taken`].
    pub const ADDRESS_TAKEN: i32 = -2;
    /// The mark before [`Self::indirect_calls`].
    pub const INDIRECT_CALLS: i32 = -3;
    /// The mark before [`Self::address_references`].
    pub const ADDRESS_REFERENCES: i32 = -4;

    /// Reads a section. A part that is missing is empty; the parts that are
    /// there must be in order.
    pub fn parse(data: &[u8]) -> Result<Self, ParseError> {
        let mut graph = Self::default();
        let mut part = 0;
        for (index, (first, second)) in pairs::read(data, "call graph")?.enumerate() {
            let malformed = |problem: String| {
                let offset = index as u64 * pairs::SIZE as u64;
                ParseError::malformed(problem).at(offset)
            };
            let mark = second as i32;
            if first == 0 && mark < 0 {
                if mark >= part || mark < Self::ADDRESS_REFERENCES {
                    return Err(malformed(format!(
                        "call graph mark {mark} behind mark {part}"
                    )));
                }
                part = mark;
            } else if !graph.push(part, (first, second)) {
                return Err(malformed(format!(
                    "call graph entry ({first}, {second}) before the first mark"
                )));
            }
        }
        Ok(graph)
    }

    /// Reads a section as nvlink does, which takes marks in any order and passes over what
    /// stands behind unknown ones or is half an entry (case `call_graph_marks`).
    pub(crate) fn parse_as_nvlink(data: &[u8]) -> Self {
        let mut graph = Self::default();
        let mut part = 0;
        for (first, second) in pairs::read_whole(data) {
            if first == 0 {
                part = second as i32;
            } else {
                graph.push(part, (first, second));
            }
        }
        graph
    }

    /// Adds an entry to the part behind `mark`, if there is one.
    fn push(&mut self, mark: i32, (first, second): (u32, u32)) -> bool {
        let edge = Edge {
            from: first,
            to: second,
        };
        let signature = Signature {
            function: first,
            prototype: second,
        };
        match mark {
            Self::CALLS => self.calls.push(edge),
            Self::ADDRESS_TAKEN => self.address_taken.push(signature),
            Self::INDIRECT_CALLS => self.indirect_calls.push(signature),
            Self::ADDRESS_REFERENCES => self.address_references.push(edge),
            _ => return false,
        }
        true
    }

    /// The bytes of the section, with all four marks.
    pub fn encode(&self) -> Vec<u8> {
        let edge = |edge: &Edge| (edge.from, edge.to);
        let signature = |signature: &Signature| (signature.function, signature.prototype);
        let edges = self.calls.len() + self.address_references.len();
        let signatures = self.address_taken.len() + self.indirect_calls.len();
        let marks = 4;
        let mut out = Vec::with_capacity((edges + signatures + marks) * pairs::SIZE);
        let mut part = |mark: i32, entries: &mut dyn Iterator<Item = (u32, u32)>| {
            pairs::write(&mut out, (0, mark as u32));
            entries.for_each(|entry| pairs::write(&mut out, entry));
        };
        part(Self::CALLS, &mut self.calls.iter().map(edge));
        let taken = &mut self.address_taken.iter().map(signature);
        part(Self::ADDRESS_TAKEN, taken);
        let indirect = &mut self.indirect_calls.iter().map(signature);
        part(Self::INDIRECT_CALLS, indirect);
        let references = &mut self.address_references.iter().map(edge);
        part(Self::ADDRESS_REFERENCES, references);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pairs: &[(u32, i32)]) -> Vec<u8> {
        let mut out = Vec::new();
        for &(first, second) in pairs {
            pairs::write(&mut out, (first, second as u32));
        }
        out
    }

    #[test]
    fn all_four_parts() {
        let graph = CallGraph {
            calls: vec![Edge { from: 22, to: 26 }, Edge { from: 22, to: 23 }],
            address_taken: vec![Signature {
                function: 23,
                prototype: 1,
            }],
            indirect_calls: vec![Signature {
                function: 22,
                prototype: 5,
            }],
            address_references: vec![Edge { from: 22, to: 23 }],
        };
        let encoded = bytes(&[
            (0, -1),
            (22, 26),
            (22, 23),
            (0, -2),
            (23, 1),
            (0, -3),
            (22, 5),
            (0, -4),
            (22, 23),
        ]);
        assert_eq!(graph.encode(), encoded);
        assert_eq!(CallGraph::parse(&encoded), Ok(graph));
    }

    #[test]
    fn empty_parts_keep_their_marks() {
        let encoded = bytes(&[(0, -1), (0, -2), (0, -3), (0, -4)]);
        assert_eq!(CallGraph::default().encode(), encoded);
        assert_eq!(CallGraph::parse(&encoded), Ok(CallGraph::default()));
        assert_eq!(CallGraph::parse(&[]), Ok(CallGraph::default()));
    }

    #[test]
    fn nvlink_takes_any_marks() {
        let graph = CallGraph {
            calls: vec![Edge { from: 5, to: 6 }, Edge { from: 7, to: 8 }],
            indirect_calls: vec![Signature {
                function: 9,
                prototype: 1,
            }],
            ..CallGraph::default()
        };
        let mut data = bytes(&[
            (1, 2),
            (0, -3),
            (9, 1),
            (0, -1),
            (5, 6),
            (0, -5),
            (3, 4),
            (0, 0),
            (3, 4),
            (0, -1),
            (7, 8),
        ]);
        data.extend([1, 0, 0, 0]);
        assert_eq!(CallGraph::parse_as_nvlink(&data), graph);
    }

    #[test]
    fn damage_is_named() {
        let error = |data: &[u8]| CallGraph::parse(data).unwrap_err().to_string();
        assert_eq!(
            error(&bytes(&[(0, -1), (0, -3), (0, -2)])),
            "<memory>, offset 0x10: call graph mark -2 behind mark -3"
        );
        assert_eq!(
            error(&bytes(&[(3, 4)])),
            "<memory>, offset 0x0: call graph entry (3, 4) before the first mark"
        );
        assert_eq!(
            error(&bytes(&[(0, -5)])),
            "<memory>, offset 0x0: call graph mark -5 behind mark 0"
        );
        assert_eq!(
            error(&[0; 9]),
            "<memory>: 9 bytes are not a whole number of call graph entries of 8 bytes"
        );
    }
}
