//! The messages of `onnx.proto` (<https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>), as far as rewriting a
//! graph needs them.
//!
//! A message that is written back declares all of its fields, because others would be lost; many are passed through
//! as bytes. A message that is only read declares the fields that are needed.

use prost::Message;
use prost::bytes::Bytes;

/// `TensorProto.FLOAT`.
pub const FLOAT: i32 = 1;
/// `TensorProto.INT8`.
pub const INT8: i32 = 3;
/// `AttributeProto.FLOAT`.
const ATTRIBUTE_FLOAT: i32 = 1;
/// `AttributeProto.INT`.
const ATTRIBUTE_INT: i32 = 2;
/// `AttributeProto.GRAPH` and `GRAPHS`: graphs inside a node, which may refer to names outside.
pub const ATTRIBUTE_GRAPHS: [i32; 2] = [5, 10];

/// `ModelProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Model {
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub producer_name: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub producer_version: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub domain: Option<Bytes>,
    #[prost(int64, optional, tag = "5")]
    pub version: Option<i64>,
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub doc_string: Option<Bytes>,
    #[prost(message, optional, tag = "7")]
    pub graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSet>,
    #[prost(bytes = "bytes", repeated, tag = "14")]
    pub metadata_props: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "20")]
    pub training_info: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "25")]
    pub functions: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "26")]
    pub configuration: Vec<Bytes>,
}

/// `OperatorSetIdProto`.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSet {
    #[prost(string, optional, tag = "1")]
    pub domain: Option<String>,
    #[prost(int64, optional, tag = "2")]
    pub version: Option<i64>,
}

/// `GraphProto`. Its nodes are in an order in which they can be computed.
#[derive(Clone, PartialEq, Message)]
pub struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<Node>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub name: Option<Bytes>,
    /// Each a [`Tensor`] with its numbers.
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub initializer: Vec<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "10")]
    pub doc_string: Option<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "11")]
    pub input: Vec<Bytes>,
    /// Each a [`Value`].
    #[prost(bytes = "bytes", repeated, tag = "12")]
    pub output: Vec<Bytes>,
    /// Each a [`Value`].
    #[prost(bytes = "bytes", repeated, tag = "13")]
    pub value_info: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "14")]
    pub quantization_annotation: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "15")]
    pub sparse_initializer: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "16")]
    pub metadata_props: Vec<Bytes>,
}

/// `NodeProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Node {
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    #[prost(string, optional, tag = "3")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub op_type: Option<String>,
    /// Each an [`Attribute`] with its value.
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub attribute: Vec<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub doc_string: Option<Bytes>,
    /// The domain of its operator; ONNX itself if empty.
    #[prost(string, optional, tag = "7")]
    pub domain: Option<String>,
    #[prost(bytes = "bytes", optional, tag = "8")]
    pub overload: Option<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub metadata_props: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "10")]
    pub device_configurations: Vec<Bytes>,
}

/// `AttributeProto`: its type, and its value if that is a number or a list of integers.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    #[prost(int32, optional, tag = "20")]
    pub kind: Option<i32>,
}

/// `TensorProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Tensor {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    pub data_type: Option<i32>,
    #[prost(string, optional, tag = "8")]
    pub name: Option<String>,
    /// The numbers, little-endian.
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub raw_data: Option<Bytes>,
}

/// `ValueInfoProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Value {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub kind: Option<Type>,
}

/// `TypeProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Type {
    #[prost(message, optional, tag = "1")]
    pub tensor: Option<TensorType>,
}

/// `TypeProto.Tensor`.
#[derive(Clone, PartialEq, Message)]
pub struct TensorType {
    #[prost(message, optional, tag = "2")]
    pub shape: Option<Shape>,
}

/// `TensorShapeProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

/// `TensorShapeProto.Dimension`: a number, or a name for a number that is the same everywhere.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

impl Node {
    /// An operator of ONNX, named after its result.
    pub fn new(operator: &str, input: &[&str], output: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        let name = output.first().map(|name| (*name).to_owned());
        let op_type = Some(operator.to_owned());
        Self { input: owned(input), output: owned(output), name, op_type, ..Self::default() }
    }

    /// The same operator with an attribute.
    #[must_use]
    pub fn with(mut self, attribute: &Attribute) -> Self {
        self.attribute.push(attribute.encode_to_vec().into());
        self
    }

    /// Whether it is this operator of ONNX.
    pub fn is(&self, operator: &str) -> bool {
        self.op_type.as_deref() == Some(operator) && self.domain.as_deref().unwrap_or_default().is_empty()
    }

    /// Its attributes; an unreadable one has no name.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute> {
        self.attribute.iter().map(|bytes| Attribute::decode(bytes.clone()).unwrap_or_default())
    }

    /// The attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<Attribute> {
        self.attributes().find(|it| it.name.as_deref() == Some(name))
    }
}

impl Attribute {
    /// A whole number.
    pub fn int(name: &str, value: i64) -> Self {
        let kind = Some(ATTRIBUTE_INT);
        Self { name: Some(name.to_owned()), i: Some(value), kind, ..Self::default() }
    }

    /// A number.
    pub fn float(name: &str, value: f32) -> Self {
        let kind = Some(ATTRIBUTE_FLOAT);
        Self { name: Some(name.to_owned()), f: Some(value), kind, ..Self::default() }
    }
}
