//! Keeping a model in whole numbers.
//!
//! Some models store their weights as 8-bit whole numbers with a scale, and turn them back into floats in
//! their graph. ONNX Runtime does that once, when it loads them, and from then on holds and multiplies
//! floats. Here the graph is written anew with ONNX's own operators of dynamic quantization, so that the
//! weights stay what they are: a product is `DynamicQuantizeLinear` and `MatMulInteger`
//! (<https://onnx.ai/onnx/operators/>), and of a table only the rows that were looked up become floats.
//!
//! The messages hold what is changed and carry the rest as it came. All fields of `onnx.proto` are named,
//! since others would be lost.

use std::collections::{HashMap, HashSet};

use prost::Message;
use prost::bytes::Bytes;

/// The first version of ONNX's operators that has those which are written.
const OPERATORS_MIN: i64 = 11;
/// `TensorProto.FLOAT`.
const FLOAT: i32 = 1;
/// `TensorProto.INT8`.
const INT8: i32 = 3;
/// `AttributeProto.INT`.
const ATTRIBUTE_INT: i32 = 2;
/// `AttributeProto.GRAPH` and `GRAPHS`: graphs inside a node, which may use what stands outside.
const ATTRIBUTE_GRAPHS: [i32; 2] = [5, 10];

#[derive(Clone, PartialEq, Message)]
struct Model {
    #[prost(int64, optional, tag = "1")]
    ir_version: Option<i64>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    producer_name: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    producer_version: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    domain: Option<Bytes>,
    #[prost(int64, optional, tag = "5")]
    version: Option<i64>,
    #[prost(bytes = "bytes", optional, tag = "6")]
    doc_string: Option<Bytes>,
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    opset_import: Vec<OperatorSet>,
    #[prost(bytes = "bytes", repeated, tag = "14")]
    metadata_props: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "20")]
    training_info: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "25")]
    functions: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "26")]
    configuration: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct OperatorSet {
    #[prost(string, optional, tag = "1")]
    domain: Option<String>,
    #[prost(int64, optional, tag = "2")]
    version: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Graph {
    #[prost(message, repeated, tag = "1")]
    node: Vec<Node>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    name: Option<Bytes>,
    /// Each a [`Tensor`] with its numbers.
    #[prost(bytes = "bytes", repeated, tag = "5")]
    initializer: Vec<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "10")]
    doc_string: Option<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "11")]
    input: Vec<Bytes>,
    /// Each a [`Value`].
    #[prost(bytes = "bytes", repeated, tag = "12")]
    output: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "13")]
    value_info: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "14")]
    quantization_annotation: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "15")]
    sparse_initializer: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "16")]
    metadata_props: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(string, repeated, tag = "1")]
    input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    output: Vec<String>,
    #[prost(string, optional, tag = "3")]
    name: Option<String>,
    #[prost(string, optional, tag = "4")]
    op_type: Option<String>,
    /// Each an [`Attribute`] with its value.
    #[prost(bytes = "bytes", repeated, tag = "5")]
    attribute: Vec<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "6")]
    doc_string: Option<Bytes>,
    #[prost(string, optional, tag = "7")]
    domain: Option<String>,
    #[prost(bytes = "bytes", optional, tag = "8")]
    overload: Option<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "9")]
    metadata_props: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "10")]
    device_configurations: Vec<Bytes>,
}

/// What an attribute is, and its value if that is a whole number.
#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(int64, optional, tag = "3")]
    i: Option<i64>,
    #[prost(int32, optional, tag = "20")]
    kind: Option<i32>,
}

/// What a tensor is; its numbers are not read.
#[derive(Clone, PartialEq, Message)]
struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    data_type: Option<i32>,
    #[prost(string, optional, tag = "8")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
}

/// The model with its 8-bit weights kept as they are; as it came if it has none that become floats, or if it
/// cannot be read, of which ONNX Runtime will say more.
pub fn keep_integers(model: Vec<u8>) -> Vec<u8> {
    let model = Bytes::from(model);
    match rewritten(model.clone()) {
        Ok(Some(rewritten)) => rewritten,
        Ok(None) => model.into(),
        Err(error) => {
            tracing::debug!(%error, "the model's graph cannot be read; it is run as it is");
            model.into()
        }
    }
}

fn rewritten(bytes: Bytes) -> Result<Option<Vec<u8>>, prost::DecodeError> {
    let mut model = Model::decode(bytes)?;
    let is_ours = |set: &&OperatorSet| set.domain.as_deref().unwrap_or_default().is_empty();
    let version = model.opset_import.iter().find(is_ours).and_then(|set| set.version);
    let Some(graph) = model.graph.as_mut().filter(|_| version >= Some(OPERATORS_MIN)) else {
        return Ok(None);
    };
    if graph.node.iter().any(Node::has_graph) {
        return Ok(None);
    }
    let weights = Weights::of(graph)?;
    let mut nodes = Vec::with_capacity(graph.node.len());
    let mut quantized = HashSet::new();
    let mut count = 0;
    for node in &graph.node {
        let replacement = if is(node, "MatMul") {
            weights.product(node, &mut quantized)
        } else if is(node, "Gather") {
            weights.lookup(node)
        } else {
            None
        };
        count += usize::from(replacement.is_some());
        nodes.extend(replacement.unwrap_or_else(|| vec![node.clone()]));
    }
    if count == 0 {
        return Ok(None);
    }
    tracing::debug!(count, "operators of the model stay in whole numbers");
    graph.node = nodes;
    for step in ["Mul", "Cast"] {
        drop_unused(graph, step, &weights)?;
    }
    Ok(Some(model.encode_to_vec()))
}

/// The weights of a graph that are kept as whole numbers, by the name that they have as floats.
struct Weights {
    by_float: HashMap<String, Weight>,
    /// The names of what stands between the whole numbers and the floats, and of the floats.
    steps: HashSet<String>,
}

struct Weight {
    numbers: String,
    dims: [i64; 2],
    scale: String,
    scale_dims: [i64; 2],
}

impl Weights {
    /// All that are `Mul(Cast(numbers), scale)` of two stored tables.
    fn of(graph: &Graph) -> Result<Self, prost::DecodeError> {
        let mut tables = HashMap::new();
        for bytes in &graph.initializer {
            let Tensor { dims, data_type, name } = Tensor::decode(bytes.clone())?;
            if let (Some(name), Some(data_type), Ok(dims)) = (name, data_type, <[i64; 2]>::try_from(dims)) {
                tables.insert(name, (data_type, dims));
            }
        }
        let table = |name: &String, wanted: i32| {
            tables.get(name).filter(|(data_type, _)| *data_type == wanted).map(|(_, dims)| *dims)
        };
        let casts = graph.node.iter().filter(|node| is(node, "Cast")).filter_map(|node| {
            let (numbers, float) = (node.input.first()?, node.output.first()?);
            Some((float, (numbers, table(numbers, INT8)?)))
        });
        let casts: HashMap<&String, (&String, [i64; 2])> = casts.collect();
        let mut found = Self { by_float: HashMap::new(), steps: HashSet::new() };
        for node in graph.node.iter().filter(|node| is(node, "Mul")) {
            let ([cast, scale], [float]) = (node.input.as_slice(), node.output.as_slice()) else { continue };
            let Some((numbers, dims)) = casts.get(cast) else { continue };
            let Some(scale_dims) = table(scale, FLOAT) else { continue };
            let weight =
                Weight { numbers: (*numbers).clone(), dims: *dims, scale: scale.clone(), scale_dims };
            found.steps.extend([cast.clone(), float.clone()]);
            found.by_float.insert(float.clone(), weight);
        }
        Ok(found)
    }

    /// A product with such a weight that has a scale for each column.
    fn product(&self, node: &Node, quantized: &mut HashSet<String>) -> Option<Vec<Node>> {
        let ([left, right], [result]) = (node.input.as_slice(), node.output.as_slice()) else { return None };
        let weight = self.by_float.get(right).filter(|it| it.scale_dims == [1, it.dims[1]])?;
        let [bytes, unit, zero] = ["bytes", "unit", "zero"].map(|part| ours(left, part));
        let [factor, sum, float] = ["factor", "sum", "sum-float"].map(|part| ours(result, part));
        let mut nodes = Vec::with_capacity(5);
        if quantized.insert(left.clone()) {
            nodes.push(made("DynamicQuantizeLinear", &[left], &[&bytes, &unit, &zero]));
        }
        nodes.extend([
            made("Mul", &[&unit, &weight.scale], &[&factor]),
            made("MatMulInteger", &[&bytes, &weight.numbers, &zero], &[&sum]),
            cast(&sum, &float),
            made("Mul", &[&float, &factor], &[result]),
        ]);
        Some(nodes)
    }

    /// A look into such a table that has a scale for each row.
    fn lookup(&self, node: &Node) -> Option<Vec<Node>> {
        let ([table, at], [result]) = (node.input.as_slice(), node.output.as_slice()) else { return None };
        let weight = self.by_float.get(table).filter(|it| it.scale_dims == [it.dims[0], 1])?;
        if !node.attributes().all(|it| it.is_axis(0)) {
            return None;
        }
        let [row, scale, float] = ["row", "row-scale", "row-float"].map(|part| ours(result, part));
        Some(vec![
            made("Gather", &[&weight.numbers, at], &[&row]),
            made("Gather", &[&weight.scale, at], &[&scale]),
            cast(&row, &float),
            made("Mul", &[&float, &scale], &[result]),
        ])
    }
}

impl Node {
    fn attributes(&self) -> impl Iterator<Item = Attribute> {
        self.attribute.iter().map(|bytes| Attribute::decode(bytes.clone()).unwrap_or_default())
    }

    fn has_graph(&self) -> bool {
        self.attributes().any(|it| it.kind.is_some_and(|kind| ATTRIBUTE_GRAPHS.contains(&kind)))
    }
}

impl Attribute {
    fn is_axis(&self, axis: i64) -> bool {
        self.name.as_deref() == Some("axis") && self.i.unwrap_or_default() == axis
    }
}

/// Removes steps of this kind whose result nobody uses any more: they would be computed all the same.
fn drop_unused(graph: &mut Graph, step: &str, weights: &Weights) -> Result<(), prost::DecodeError> {
    let mut used: HashSet<String> = graph.node.iter().flat_map(|node| node.input.iter().cloned()).collect();
    for bytes in &graph.output {
        used.extend(Value::decode(bytes.clone())?.name);
    }
    graph.node.retain(|node| {
        let is_left = node.output.iter().any(|name| weights.steps.contains(name) && !used.contains(name));
        !(is(node, step) && is_left)
    });
    Ok(())
}

fn is(node: &Node, operator: &str) -> bool {
    node.op_type.as_deref() == Some(operator) && node.domain.as_deref().unwrap_or_default().is_empty()
}

/// The name of something that the rewriting adds.
fn ours(name: &str, part: &str) -> String {
    format!("{name}/cerebro/{part}")
}

fn made(operator: &str, input: &[&str], output: &[&str]) -> Node {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let name = output.first().map(|name| (*name).to_owned());
    let op_type = Some(operator.to_owned());
    Node { input: owned(input), output: owned(output), name, op_type, ..Node::default() }
}

fn cast(from: &str, to: &str) -> Node {
    let to_float =
        Attribute { name: Some("to".to_owned()), i: Some(FLOAT.into()), kind: Some(ATTRIBUTE_INT) };
    Node { attribute: vec![to_float.encode_to_vec().into()], ..made("Cast", &[from], &[to]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str, data_type: i32, dims: [i64; 2]) -> Bytes {
        let name = Some(name.to_owned());
        Tensor { dims: dims.to_vec(), data_type: Some(data_type), name }.encode_to_vec().into()
    }

    /// A table that is looked into and a product with what is found, both stored as bytes.
    fn stored_as_bytes() -> Model {
        let node = vec![
            cast("table_q", "table_c"),
            made("Mul", &["table_c", "table_s"], &["table"]),
            cast("weight_q", "weight_c"),
            made("Mul", &["weight_c", "weight_s"], &["weight"]),
            made("Gather", &["table", "ids"], &["rows"]),
            made("MatMul", &["rows", "weight"], &["sums"]),
        ];
        let initializer = vec![
            tensor("table_q", INT8, [9, 4]),
            tensor("table_s", FLOAT, [9, 1]),
            tensor("weight_q", INT8, [4, 3]),
            tensor("weight_s", FLOAT, [1, 3]),
        ];
        let output = vec![Value { name: Some("sums".to_owned()) }.encode_to_vec().into()];
        let graph = Graph { node, initializer, output, ..Graph::default() };
        let opset_import = vec![OperatorSet { domain: None, version: Some(17) }];
        Model { graph: Some(graph), opset_import, ..Model::default() }
    }

    /// Names of what each operator makes, in their order.
    fn operators(model: &[u8]) -> Vec<(String, String)> {
        let graph = Model::decode(model).unwrap().graph.unwrap();
        graph.node.iter().map(|node| (node.op_type.clone().unwrap(), node.output.join(" "))).collect()
    }

    fn is_left_alone(change: impl FnOnce(&mut Model)) -> bool {
        let mut model = stored_as_bytes();
        change(&mut model);
        let bytes = model.encode_to_vec();
        keep_integers(bytes.clone()) == bytes
    }

    fn node(model: &mut Model, at: usize) -> &mut Node {
        &mut model.graph.as_mut().unwrap().node[at]
    }

    #[test]
    fn weights_stay_bytes() {
        let mut model = stored_as_bytes();
        // Two products of the same rows bring them to bytes once.
        let again = made("MatMul", &["rows", "weight"], &["more"]);
        model.graph.as_mut().unwrap().node.push(again);
        let wanted = [
            ("Gather", "rows/cerebro/row"),
            ("Gather", "rows/cerebro/row-scale"),
            ("Cast", "rows/cerebro/row-float"),
            ("Mul", "rows"),
            ("DynamicQuantizeLinear", "rows/cerebro/bytes rows/cerebro/unit rows/cerebro/zero"),
            ("Mul", "sums/cerebro/factor"),
            ("MatMulInteger", "sums/cerebro/sum"),
            ("Cast", "sums/cerebro/sum-float"),
            ("Mul", "sums"),
            ("Mul", "more/cerebro/factor"),
            ("MatMulInteger", "more/cerebro/sum"),
            ("Cast", "more/cerebro/sum-float"),
            ("Mul", "more"),
        ];
        let found = operators(&keep_integers(model.encode_to_vec()));
        assert_eq!(found, wanted.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn floats_that_are_needed_otherwise_stay() {
        let mut model = stored_as_bytes();
        let output = Value { name: Some("weight".to_owned()) }.encode_to_vec().into();
        model.graph.as_mut().unwrap().output.push(output);
        let found = operators(&keep_integers(model.encode_to_vec()));
        let made_by = |name: &str| found.iter().find(|(_, output)| output == name).map(|it| it.0.as_str());
        assert_eq!((made_by("weight_c"), made_by("weight")), (Some("Cast"), Some("Mul")), "{found:?}");
        assert_eq!((made_by("table_c"), made_by("table")), (None, None), "{found:?}");
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        assert!(!is_left_alone(|_| {}));
        assert!(is_left_alone(|model| model.opset_import[0].version = Some(10)), "operators of another age");
        assert!(is_left_alone(|model| model.graph.as_mut().unwrap().initializer.clear()), "nothing stored");
        let inner = Attribute { name: Some("body".to_owned()), i: None, kind: Some(ATTRIBUTE_GRAPHS[0]) };
        let inner: Bytes = inner.encode_to_vec().into();
        assert!(is_left_alone(|model| node(model, 4).attribute.push(inner)), "a graph inside");
        let column = Attribute { name: Some("axis".to_owned()), i: Some(1), kind: Some(ATTRIBUTE_INT) };
        let column: Bytes = column.encode_to_vec().into();
        assert!(is_left_alone(|model| {
            node(model, 4).attribute.push(column);
            node(model, 5).op_type = Some("Gemm".to_owned());
        }));
        assert_eq!(keep_integers(b"\xffno model".to_vec()), b"\xffno model");
    }

    #[test]
    fn a_scale_of_the_other_direction_is_left_alone() {
        assert!(is_left_alone(|model| {
            let graph = model.graph.as_mut().unwrap();
            graph.initializer[1] = tensor("table_s", FLOAT, [1, 4]);
            graph.initializer[3] = tensor("weight_s", FLOAT, [4, 1]);
        }));
    }
}
