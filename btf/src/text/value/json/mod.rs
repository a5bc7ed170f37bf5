//! Values as JSON: structs and unions as objects, arrays as arrays.
//!
//! A 64-bit integer is a number, a wider one a string of digits. Enumerators, pointers and bytes without a
//! type are strings, as C writes them. What the data lacks is `null`.

#[cfg(test)]
mod tests;

use super::{Aggregate, Scalar, Value, ValueLocation, ValueVisitor};
use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::hash::BuildHasher as _;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use serde::{Serialize, Serializer, ser::Error as _};
use thiserror::Error;

/// Serializes a value: structs and unions as maps, arrays as sequences. The members of an anonymous member
/// belong to the outer type, as in C. Variables of a section that have the same name are numbered, as libbpf
/// does in skeletons: `n`, `n___2`.
impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut builder = NodeBuilder { open: Vec::new(), finished: Node::Null };
        self.visit(&mut builder).map_err(S::Error::custom)?;
        builder.finished.serialize(serializer)
    }
}

/// A visit closes more structs, unions and arrays than it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("internal error: a group of a value ends that never began")]
struct UnbalancedGroups;

/// A part of a value.
enum Node {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Array(Vec<Self>),
    Object(Members),
}

/// The members of a struct or union, in order.
#[derive(Default)]
struct Members {
    entries: Vec<(String, Node)>,
    /// The indexes of the entries, by name.
    by_name: HashTable<usize>,
    hasher: DefaultHashBuilder,
    /// The last numbers of repeated names.
    repeated: HashMap<String, u64>,
}

/// A struct, union or array that is being visited.
struct OpenGroup {
    name: String,
    /// Whether this is an anonymous member of a struct or union.
    is_anonymous: bool,
    content: Node,
}

struct NodeBuilder {
    /// The structs, unions and arrays that are still open, from the outermost.
    open: Vec<OpenGroup>,
    finished: Node,
}

impl Members {
    fn contains(&self, name: &str) -> bool {
        let is_equal = |index: &usize| self.entries.get(*index).is_some_and(|(known, _)| known == name);
        self.by_name.find(self.hasher.hash_one(name), is_equal).is_some()
    }

    /// Adds a member. A repeated name is numbered.
    fn add(&mut self, name: String, node: Node) {
        if !self.contains(&name) {
            return self.push(name, node);
        }
        let last = self.repeated.get(&name).copied().unwrap_or(1);
        // A variable may have a numbered name itself.
        let mut numbered = (last..).skip(1).map(|number| (number, format!("{name}___{number}")));
        if let Some((number, numbered)) = numbered.find(|(_, numbered)| !self.contains(numbered)) {
            self.repeated.insert(name, number);
            self.push(numbered, node);
        }
    }

    fn push(&mut self, name: String, node: Node) {
        let (entries, hasher) = (&mut self.entries, &self.hasher);
        let hash = hasher.hash_one(&*name);
        let index = entries.len();
        entries.push((name, node));
        let hash_of = |index: &usize| entries.get(*index).map_or(0, |(name, _)| hasher.hash_one(&**name));
        self.by_name.insert_unique(hash, index, hash_of);
    }
}

impl NodeBuilder {
    /// Adds a part to the innermost open struct, union or array.
    fn add(&mut self, name: String, node: Node) {
        match self.open.last_mut().map(|group| &mut group.content) {
            Some(Node::Array(elements)) => elements.push(node),
            Some(Node::Object(members)) => members.add(name, node),
            _ => self.finished = node,
        }
    }
}

impl ValueVisitor for NodeBuilder {
    type Error = UnbalancedGroups;

    fn open(&mut self, at: &ValueLocation<'_>, group: Aggregate) -> Result<(), UnbalancedGroups> {
        let content = match group {
            Aggregate::Array { .. } => Node::Array(Vec::new()),
            _ => Node::Object(Members::default()),
        };
        let outer = self.open.last().map(|group| &group.content);
        let is_member = at.index.is_none() && matches!(outer, Some(Node::Object(_)));
        let is_anonymous = is_member && at.name.is_empty() && matches!(content, Node::Object(_));
        self.open.push(OpenGroup { name: at.name.to_string(), is_anonymous, content });
        Ok(())
    }

    fn close(&mut self, _: Aggregate) -> Result<(), UnbalancedGroups> {
        let OpenGroup { name, is_anonymous, content } = self.open.pop().ok_or(UnbalancedGroups)?;
        match content {
            Node::Object(members) if is_anonymous => {
                for (name, node) in members.entries {
                    self.add(name, node);
                }
            }
            content => self.add(name, content),
        }
        Ok(())
    }

    fn scalar(&mut self, at: &ValueLocation<'_>, scalar: Scalar<'_>) -> Result<(), UnbalancedGroups> {
        self.add(at.name.to_string(), scalar.into());
        Ok(())
    }
}

impl From<Scalar<'_>> for Node {
    fn from(scalar: Scalar<'_>) -> Self {
        match scalar {
            Scalar::Unsigned(v) => {
                u64::try_from(v).map_or_else(|_| Self::Text(v.to_string()), Self::Unsigned)
            }
            Scalar::Signed(v) => match (i64::try_from(v), u64::try_from(v)) {
                (Ok(v), _) => Self::Signed(v),
                (_, Ok(v)) => Self::Unsigned(v),
                _ => Self::Text(v.to_string()),
            },
            Scalar::Bool(v) => Self::Bool(v),
            Scalar::Char(v) => Self::Unsigned(v.into()),
            Scalar::Float(v) if v.is_nan() => Self::Text("NaN".into()),
            Scalar::Float(v) if v.is_infinite() => {
                Self::Text(if v > 0.0 { "Infinity" } else { "-Infinity" }.into())
            }
            Scalar::Float(v) => Self::Float(v),
            Scalar::Extended(v) => Self::Text(v.to_string()),
            Scalar::Enum(v) if v.name().is_none() && v.flags().is_none() => Scalar::Signed(v.value()).into(),
            Scalar::Enum(_) | Scalar::Pointer(_) => Self::Text(scalar.to_string()),
            Scalar::Text { bytes, .. } => match scalar.c_str().map(core::str::from_utf8) {
                Some(Ok(text)) => Self::Text(text.into()),
                _ => Self::Bytes(bytes.to_vec()),
            },
            Scalar::Raw(bytes) if !bytes.is_empty() => Self::Text(scalar.to_string()),
            Scalar::Raw(_) | Scalar::CutOff | Scalar::Omitted => Self::Null,
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(v) => serializer.serialize_bool(*v),
            Self::Unsigned(v) => serializer.serialize_u64(*v),
            Self::Signed(v) => serializer.serialize_i64(*v),
            Self::Float(v) => serializer.serialize_f64(*v),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.collect_seq(bytes),
            Self::Array(elements) => serializer.collect_seq(elements),
            Self::Object(members) => {
                serializer.collect_map(members.entries.iter().map(|(name, node)| (name, node)))
            }
        }
    }
}
