//! Keeps quantized weights as integers.
//!
//! Some models store their weights as 8-bit integers with a scale, and convert them back to floats in their graph.
//! ONNX Runtime does that once, at loading, and from then on holds and multiplies floats. This module substitutes
//! ONNX's own operators of dynamic quantization (<https://onnx.ai/onnx/operators/>), so that the weights stay
//! integers: a product becomes `DynamicQuantizeLinear` and `MatMulInteger`, and only the looked-up rows of a table
//! become floats.

use std::collections::{HashMap, HashSet};

use prost::{DecodeError, Message};

use super::onnx::{Attribute, FLOAT, Graph, INT8, Node, Tensor};

/// Replaces operators on floats by operators on integers, and returns their number. The nodes that computed the
/// floats stay, even if unused.
pub fn keep_integers(graph: &mut Graph) -> Result<usize, DecodeError> {
    let weights = Weights::of(graph)?;
    let mut nodes = Vec::with_capacity(graph.node.len());
    let mut quantized = HashSet::new();
    let mut count = 0;
    for node in graph.node.drain(..) {
        let replacement = if node.is("MatMul") {
            weights.product(&node, &mut quantized)
        } else if node.is("Gather") {
            weights.lookup(&node)
        } else {
            None
        };
        count += usize::from(replacement.is_some());
        nodes.extend(replacement.unwrap_or_else(|| vec![node]));
    }
    graph.node = nodes;
    Ok(count)
}

/// The weights of a graph that are stored as integers, by the names of their float versions.
struct Weights(HashMap<String, Weight>);

struct Weight {
    numbers: String,
    dims: [i64; 2],
    scale: String,
    scale_dims: [i64; 2],
}

impl Weights {
    /// All weights of the form `Mul(Cast(numbers), scale)` of two stored tables.
    fn of(graph: &Graph) -> Result<Self, DecodeError> {
        let mut tables = HashMap::new();
        for bytes in &graph.initializer {
            let Tensor { dims, data_type, name, .. } = Tensor::decode(bytes.clone())?;
            if let (Some(name), Some(data_type), Ok(dims)) = (name, data_type, <[i64; 2]>::try_from(dims)) {
                tables.insert(name, (data_type, dims));
            }
        }
        let table = |name: &String, wanted: i32| {
            tables.get(name).filter(|(data_type, _)| *data_type == wanted).map(|(_, dims)| *dims)
        };
        let casts = graph.node.iter().filter(|node| node.is("Cast")).filter_map(|node| {
            let (numbers, float) = (node.input.first()?, node.output.first()?);
            Some((float, (numbers, table(numbers, INT8)?)))
        });
        let casts: HashMap<&String, (&String, [i64; 2])> = casts.collect();
        let mut found = HashMap::new();
        for node in graph.node.iter().filter(|node| node.is("Mul")) {
            let ([cast, scale], [float]) = (node.input.as_slice(), node.output.as_slice()) else { continue };
            let Some((numbers, dims)) = casts.get(cast) else { continue };
            let Some(scale_dims) = table(scale, FLOAT) else { continue };
            let weight =
                Weight { numbers: (*numbers).clone(), dims: *dims, scale: scale.clone(), scale_dims };
            found.insert(float.clone(), weight);
        }
        Ok(Self(found))
    }

    /// A product with such a weight that has one scale per column.
    fn product(&self, node: &Node, quantized: &mut HashSet<String>) -> Option<Vec<Node>> {
        let ([left, right], [result]) = (node.input.as_slice(), node.output.as_slice()) else { return None };
        let weight = self.0.get(right).filter(|it| it.scale_dims == [1, it.dims[1]])?;
        let [bytes, unit, zero] = ["bytes", "unit", "zero"].map(|part| ours(left, part));
        let [factor, sum, float] = ["factor", "sum", "sum-float"].map(|part| ours(result, part));
        let mut nodes = Vec::with_capacity(5);
        if quantized.insert(left.clone()) {
            nodes.push(Node::new("DynamicQuantizeLinear", &[left], &[&bytes, &unit, &zero]));
        }
        nodes.extend([
            Node::new("Mul", &[&unit, &weight.scale], &[&factor]),
            Node::new("MatMulInteger", &[&bytes, &weight.numbers, &zero], &[&sum]),
            cast(&sum, &float),
            Node::new("Mul", &[&float, &factor], &[result]),
        ]);
        Some(nodes)
    }

    /// A lookup in such a table that has one scale per row.
    fn lookup(&self, node: &Node) -> Option<Vec<Node>> {
        let ([table, at], [result]) = (node.input.as_slice(), node.output.as_slice()) else { return None };
        let weight = self.0.get(table).filter(|it| it.scale_dims == [it.dims[0], 1])?;
        if node.attribute("axis").and_then(|it| it.i).unwrap_or_default() != 0 {
            return None;
        }
        let [row, scale, float] = ["row", "row-scale", "row-float"].map(|part| ours(result, part));
        Some(vec![
            Node::new("Gather", &[&weight.numbers, at], &[&row]),
            Node::new("Gather", &[&weight.scale, at], &[&scale]),
            cast(&row, &float),
            Node::new("Mul", &[&float, &scale], &[result]),
        ])
    }
}

/// The name of something that the rewriting adds.
fn ours(name: &str, part: &str) -> String {
    format!("{name}/cerebro/{part}")
}

fn cast(from: &str, to: &str) -> Node {
    Node::new("Cast", &[from], &[to]).with(&Attribute::int("to", FLOAT.into()))
}
#[cfg(test)]
mod tests {
    use prost::bytes::Bytes;

    use super::super::onnx::{ATTRIBUTE_GRAPHS, Model, OperatorSet, Value};
    use super::super::rewritten;
    use super::*;

    fn tensor(name: &str, data_type: i32, dims: [i64; 2]) -> Bytes {
        let name = Some(name.to_owned());
        Tensor { dims: dims.to_vec(), data_type: Some(data_type), name, raw_data: None }
            .encode_to_vec()
            .into()
    }

    /// A table that is looked into and a product with what is found, both stored as bytes.
    fn stored_as_bytes() -> Model {
        let node = vec![
            cast("table_q", "table_c"),
            Node::new("Mul", &["table_c", "table_s"], &["table"]),
            cast("weight_q", "weight_c"),
            Node::new("Mul", &["weight_c", "weight_s"], &["weight"]),
            Node::new("Gather", &["table", "ids"], &["rows"]),
            Node::new("MatMul", &["rows", "weight"], &["sums"]),
        ];
        let initializer = vec![
            tensor("table_q", INT8, [9, 4]),
            tensor("table_s", FLOAT, [9, 1]),
            tensor("weight_q", INT8, [4, 3]),
            tensor("weight_s", FLOAT, [1, 3]),
        ];
        let output = vec![Value { name: Some("sums".to_owned()), kind: None }.encode_to_vec().into()];
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
        rewritten(bytes.clone()) == bytes
    }

    fn node(model: &mut Model, at: usize) -> &mut Node {
        &mut model.graph.as_mut().unwrap().node[at]
    }

    #[test]
    fn weights_stay_bytes() {
        let mut model = stored_as_bytes();
        // Two products of the same rows bring them to bytes once.
        let again = Node::new("MatMul", &["rows", "weight"], &["more"]);
        let graph = model.graph.as_mut().unwrap();
        graph.node.push(again);
        graph.output.push(Value { name: Some("more".to_owned()), kind: None }.encode_to_vec().into());
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
        let found = operators(&rewritten(model.encode_to_vec()));
        assert_eq!(found, wanted.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn nodes_stay_in_the_order_of_their_use() {
        // ONNX Runtime brings nodes in order; what is used may come after its user.
        let mut model = stored_as_bytes();
        model.graph.as_mut().unwrap().node.reverse();
        let found = operators(&rewritten(model.encode_to_vec()));
        assert_eq!(found.iter().filter(|(operator, _)| operator == "Gather").count(), 2, "{found:?}");
        assert!(!found.iter().any(|(_, output)| output == "table"), "{found:?}");
    }

    #[test]
    fn floats_with_other_uses_stay() {
        let mut model = stored_as_bytes();
        let output = Value { name: Some("weight".to_owned()), kind: None }.encode_to_vec().into();
        model.graph.as_mut().unwrap().output.push(output);
        let found = operators(&rewritten(model.encode_to_vec()));
        let made_by = |name: &str| found.iter().find(|(_, output)| output == name).map(|it| it.0.as_str());
        assert_eq!((made_by("weight_c"), made_by("weight")), (Some("Cast"), Some("Mul")), "{found:?}");
        assert_eq!((made_by("table_c"), made_by("table")), (None, None), "{found:?}");
    }

    #[test]
    fn unknown_patterns_are_left_alone() {
        assert!(!is_left_alone(|_| {}));
        assert!(is_left_alone(|model| model.opset_import[0].version = Some(10)), "operators of another age");
        assert!(is_left_alone(|model| model.graph.as_mut().unwrap().initializer.clear()), "nothing stored");
        let inner = Attribute {
            name: Some("body".to_owned()),
            kind: Some(ATTRIBUTE_GRAPHS[0]),
            ..Attribute::default()
        };
        let inner: Bytes = inner.encode_to_vec().into();
        assert!(is_left_alone(|model| node(model, 4).attribute.push(inner)), "a graph inside");
        let column = Attribute::int("axis", 1);
        let column: Bytes = column.encode_to_vec().into();
        assert!(is_left_alone(|model| {
            node(model, 4).attribute.push(column);
            node(model, 5).op_type = Some("Gemm".to_owned());
        }));
        assert_eq!(rewritten(b"\xffno model".to_vec()), b"\xffno model");
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
