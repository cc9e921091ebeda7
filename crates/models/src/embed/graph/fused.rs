//! Fuses many small operators into one.
//!
//! ONNX Runtime has operators of its own for the parts of a transformer
//! (<https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md>), and substitutes them for the
//! patterns that it recognizes. It does not recognize what PyTorch's newer exporter writes; this module does the
//! substitution beforehand.

use std::collections::HashMap;
use std::f32::consts::SQRT_2;

use prost::{DecodeError, Message};

use super::onnx::{Attribute, Dimension, FLOAT, Graph, Node, Tensor, Value};

/// The domain of these operators.
pub const DOMAIN: &str = "com.microsoft";
/// The relative tolerance when comparing a number in a graph with a constant: floats have 24 bits.
const NEAR: f32 = 1e-6;
/// The permutation that moves heads before positions, or back.
const HEADS_FIRST: &[i64] = &[0, 2, 1, 3];
/// The permutation that transposes each table of a list.
const SWAPPED: &[i64] = &[0, 2, 1];

/// Replaces each recognized group of operators by one operator, and returns their number. The nodes that computed
/// the parts stay, even if unused.
pub fn fuse(graph: &mut Graph) -> Result<usize, DecodeError> {
    let reader = Reader::of(graph)?;
    let fused = |node: &Node| {
        let result = node.output.first()?;
        reader.gelu(result).or_else(|| reader.attention(result))
    };
    let fused: Vec<Option<Node>> = graph.node.iter().map(fused).collect();
    let mut count = 0;
    for (node, fused) in graph.node.iter_mut().zip(fused) {
        if let Some(fused) = fused {
            *node = Node { domain: Some(DOMAIN.to_owned()), ..fused };
            count += 1;
        }
    }
    Ok(count)
}

/// Reads a graph backwards, from the name of a result to how it was computed.
struct Reader<'a> {
    makers: HashMap<&'a str, &'a Node>,
    /// The stored single numbers.
    numbers: HashMap<String, f32>,
    /// The shapes that the exporter declared.
    shapes: HashMap<String, Vec<Dimension>>,
}

impl<'a> Reader<'a> {
    fn of(graph: &'a Graph) -> Result<Self, DecodeError> {
        let made = |node: &'a Node| node.output.iter().map(move |name| (name.as_str(), node));
        let makers = graph.node.iter().flat_map(made).collect();
        let mut numbers = HashMap::new();
        for bytes in &graph.initializer {
            let tensor = Tensor::decode(bytes.clone())?;
            numbers.extend(number(&tensor).and_then(|number| Some((tensor.name?, number))));
        }
        let mut shapes = HashMap::new();
        for bytes in &graph.value_info {
            let Value { name, kind } = Value::decode(bytes.clone())?;
            let shape = kind.and_then(|kind| kind.tensor?.shape);
            shapes.extend(name.zip(shape).map(|(name, shape)| (name, shape.dim)));
        }
        Ok(Self { makers, numbers, shapes })
    }

    /// `x · ((erf(x / √2) + 1) · ½)`, the Gaussian error linear unit (<https://arxiv.org/abs/1606.08415>).
    fn gelu(&self, result: &str) -> Option<Node> {
        let [left, right] = self.inputs(result, "Mul")?;
        let x = match (self.below(left), self.below(right)) {
            (Some(x), _) if x == right => x,
            (_, Some(x)) if x == left => x,
            _ => return None,
        };
        Some(Node::new("Gelu", &[x], &[result]))
    }

    /// The `x` for which this is `(erf(x / √2) + 1) · ½`: the share of a normal distribution below `x`.
    fn below(&self, result: &str) -> Option<&'a str> {
        let doubled = self.with(result, "Mul", 0.5)?;
        let [part] = self.inputs(self.with(doubled, "Add", 1.0)?, "Erf")?;
        self.with(part, "Div", SQRT_2)
    }

    /// `softmax(query · keyᵀ · scale + mask) · value` in each of several heads
    /// (<https://arxiv.org/abs/1706.03762>). The nodes that zero a row which attends to nothing are left out: every
    /// token of a text attends to the text.
    fn attention(&self, result: &str) -> Option<Node> {
        let [joined, _] = self.inputs(result, "Reshape")?;
        let [shares, value] = self.inputs(self.ordered(joined, HEADS_FIRST)?, "MatMul")?;
        let [sees_nothing, zero, softmax] = self.inputs(shares, "Where")?;
        let is_checked = self.inputs(sees_nothing, "IsNaN") == Some([softmax]) && self.is_number(zero, 0.0);
        let is_by_row = self.attribute(softmax, "axis").is_some_and(|axis| axis.i == Some(-1));
        let [scores] = self.inputs(softmax, "Softmax")?;
        let [products, mask] = self.inputs(scores, "Add")?;
        let [query, key] = self.inputs(products, "MatMul")?;
        let ((query, of_query), (key, of_key)) = (self.scaled(query)?, self.scaled(key)?);
        let key = self.swapped(key)?;

        let shape = self.shape(query)?;
        let [batch, heads, length, _] = shape;
        let is_alike = [key, value].iter().all(|part| self.shape(part) == Some(shape));
        let is_masked_whole = self.shape(mask).is_some_and(|[_, _, from, to]| from == length && to == length);
        let rows: [_; 3] = self.shape(result)?;
        let [query, key, value] = [self.uncut(query)?, self.uncut(key)?, self.uncut(value)?];
        let is_of_rows = [query, key, value].iter().all(|part| self.shape(part) == Some(rows));
        let is_joined = rows[..2] == [batch, length];
        if !(is_checked && is_by_row && is_alike && is_masked_whole && is_of_rows && is_joined) {
            return None;
        }
        // Its inputs are optional: after the value come a bias, a padding mask, and what is added to the scores.
        let node = Node::new("MultiHeadAttention", &[query, key, value, "", "", mask], &[result]);
        let scale = Attribute::float("scale", of_query * of_key);
        Some(node.with(&Attribute::int("num_heads", heads.value?)).with(&scale))
    }

    /// The rows that were split into heads to give this.
    fn uncut(&self, result: &str) -> Option<&'a str> {
        let [rows, _] = self.inputs(self.ordered(result, HEADS_FIRST)?, "Reshape")?;
        Some(rows)
    }

    /// The heads whose last two dimensions are swapped to give this, by way of a list of tables.
    fn swapped(&self, result: &str) -> Option<&'a str> {
        let [tables, _] = self.inputs(result, "Reshape")?;
        let [heads, _] = self.inputs(self.ordered(tables, SWAPPED)?, "Reshape")?;
        Some(heads)
    }

    /// The input whose dimensions are permuted in this order to give this.
    fn ordered(&self, result: &str, order: &[i64]) -> Option<&'a str> {
        let [of] = self.inputs(result, "Transpose")?;
        self.attribute(result, "perm").filter(|it| it.ints == order).map(|_| of)
    }

    /// The input that is multiplied by a stored number to give this, and the number.
    fn scaled(&self, result: &str) -> Option<(&'a str, f32)> {
        let [of, scale] = self.inputs(result, "Mul")?;
        Some((of, *self.numbers.get(scale)?))
    }

    /// The input that this operator combines with this number to give this. The number is the second operand or,
    /// for commutative operators, either.
    fn with(&self, result: &str, operator: &str, number: f32) -> Option<&'a str> {
        let [left, right] = self.inputs(result, operator)?;
        if self.is_number(right, number) {
            return Some(left);
        }
        (operator != "Div" && self.is_number(left, number)).then_some(right)
    }

    fn is_number(&self, name: &str, wanted: f32) -> bool {
        self.numbers.get(name).is_some_and(|it| (it - wanted).abs() <= wanted.abs() * NEAR)
    }

    /// The inputs of this operator, if it gives this and has this many.
    fn inputs<const N: usize>(&self, result: &str, operator: &str) -> Option<[&'a str; N]> {
        let node = self.makers.get(result).filter(|node| node.is(operator) && node.input.len() == N)?;
        Some(std::array::from_fn(|at| node.input[at].as_str()))
    }

    fn attribute(&self, result: &str, name: &str) -> Option<Attribute> {
        self.makers.get(result)?.attribute(name)
    }

    /// The shape of a result, if it has this many dimensions and all are known.
    fn shape<const N: usize>(&self, name: &str) -> Option<[&Dimension; N]> {
        let shape: [&Dimension; N] = self.shapes.get(name)?.iter().collect::<Vec<_>>().try_into().ok()?;
        let is_known =
            |it: &&Dimension| it.value > Some(0) || it.name.as_ref().is_some_and(|it| !it.is_empty());
        shape.iter().all(is_known).then_some(shape)
    }
}

/// The only number of a float tensor with at most one dimension.
fn number(tensor: &Tensor) -> Option<f32> {
    let bytes: [u8; 4] = tensor.raw_data.as_ref()?.as_ref().try_into().ok()?;
    (tensor.data_type == Some(FLOAT) && tensor.dims.len() <= 1).then(|| f32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::onnx::{Shape, TensorType, Type};
    use super::*;
    use prost::bytes::Bytes;

    fn stored(name: &str, number: f32) -> Bytes {
        tensor(name, number, vec![])
    }

    fn table(name: &str, number: f32) -> Bytes {
        tensor(name, number, vec![1, 1, 1, 1])
    }

    fn tensor(name: &str, number: f32, dims: Vec<i64>) -> Bytes {
        let raw_data = Some(number.to_le_bytes().to_vec().into());
        Tensor { dims, data_type: Some(FLOAT), name: Some(name.to_owned()), raw_data }.encode_to_vec().into()
    }

    /// What is known of a shape: numbers, and names for what is not known before there is a text.
    fn shaped(name: &str, dims: &str) -> Bytes {
        let dim = dims.split(' ').map(|dim| match dim.parse() {
            Ok(value) => Dimension { value: Some(value), name: None },
            Err(_) => Dimension { value: None, name: Some(dim.to_owned()) },
        });
        let tensor = Some(TensorType { shape: Some(Shape { dim: dim.collect() }) });
        Value { name: Some(name.to_owned()), kind: Some(Type { tensor }) }.encode_to_vec().into()
    }

    fn order(node: Node, perm: &[i64]) -> Node {
        let name = Some("perm".to_owned());
        node.with(&Attribute { name, ints: perm.to_vec(), ..Attribute::default() })
    }

    fn gelu() -> Graph {
        let node = vec![
            Node::new("Div", &["x", "root"], &["part"]),
            Node::new("Erf", &["part"], &["erf"]),
            Node::new("Add", &["erf", "one"], &["sum"]),
            Node::new("Mul", &["half", "sum"], &["share"]),
            Node::new("Mul", &["x", "share"], &["result"]),
        ];
        let initializer = vec![stored("root", SQRT_2), stored("one", 1.0), stored("half", 0.5)];
        Graph { node, initializer, ..Graph::default() }
    }

    /// Four heads of eight numbers each, as PyTorch writes them.
    fn attention() -> Graph {
        let mut node = Vec::new();
        let mut value_info = vec![shaped("mask", "n 1 t t"), shaped("result", "n t 32")];
        for part in ["q", "k", "v"] {
            let [cut, heads] = [format!("{part}-cut"), format!("{part}-heads")];
            value_info.extend([shaped(part, "n t 32"), shaped(&heads, "n 4 t 8")]);
            node.push(Node::new("Reshape", &[part, "some shape"], &[&cut]));
            node.push(order(Node::new("Transpose", &[&cut], &[&heads]), HEADS_FIRST));
        }
        node.extend([
            Node::new("Reshape", &["k-heads", "some shape"], &["tables"]),
            order(Node::new("Transpose", &["tables"], &["swapped"]), SWAPPED),
            Node::new("Reshape", &["swapped", "some shape"], &["k-swapped"]),
            Node::new("Mul", &["q-heads", "scale"], &["q-scaled"]),
            Node::new("Mul", &["k-swapped", "scale"], &["k-scaled"]),
            Node::new("MatMul", &["q-scaled", "k-scaled"], &["products"]),
            Node::new("Add", &["products", "mask"], &["scores"]),
            Node::new("Softmax", &["scores"], &["softmax"]).with(&Attribute::int("axis", -1)),
            Node::new("IsNaN", &["softmax"], &["sees nothing"]),
            Node::new("Where", &["sees nothing", "zero", "softmax"], &["shares"]),
            Node::new("MatMul", &["shares", "v-heads"], &["seen"]),
            order(Node::new("Transpose", &["seen"], &["joined"]), HEADS_FIRST),
            Node::new("Reshape", &["joined", "some shape"], &["result"]),
        ]);
        let initializer = vec![stored("scale", 0.5), stored("zero", 0.0)];
        Graph { node, initializer, value_info, ..Graph::default() }
    }

    /// The operator that makes the result once the graph was changed, if it is one that was put there.
    fn fused(mut graph: Graph, change: impl FnOnce(&mut Graph)) -> Option<Node> {
        change(&mut graph);
        let count = fuse(&mut graph).unwrap();
        let node = graph.node.pop().filter(|node| node.domain.is_some());
        assert_eq!(count, usize::from(node.is_some()));
        node
    }

    fn made<'a>(graph: &'a mut Graph, name: &str) -> &'a mut Node {
        graph.node.iter_mut().find(|node| node.output == [name]).unwrap()
    }

    #[test]
    fn a_gelu_is_one_operator() {
        let wanted = Node { domain: Some(DOMAIN.to_owned()), ..Node::new("Gelu", &["x"], &["result"]) };
        assert_eq!(fused(gelu(), |_| {}).as_ref(), Some(&wanted));
        // Where the order of two makes no difference.
        let turned = |graph: &mut Graph| {
            for name in ["sum", "share", "result"] {
                made(graph, name).input.reverse();
            }
        };
        assert_eq!(fused(gelu(), turned).as_ref(), Some(&wanted));
    }

    #[test]
    fn an_inexact_gelu_is_left_alone() {
        let is_left = |change: fn(&mut Graph)| fused(gelu(), change).is_none();
        assert!(is_left(|graph| graph.initializer[0] = stored("root", 1.5)), "another root");
        assert!(is_left(|graph| graph.initializer[2] = stored("half", 1.0)), "not half");
        assert!(
            is_left(|graph| graph.initializer[2] = table("half", 0.5)),
            "a number that widens what it is joined with"
        );
        assert!(is_left(|graph| made(graph, "part").input.reverse()), "the root by x");
        assert!(is_left(|graph| made(graph, "result").input[0] = "y".to_owned()), "of something else");
        assert!(is_left(|graph| made(graph, "erf").op_type = Some("Tanh".to_owned())), "another curve");
        assert!(
            is_left(|graph| made(graph, "erf").domain = Some("someone".to_owned())),
            "another's operator"
        );
    }

    #[test]
    fn attention_is_one_operator() {
        let node = fused(attention(), |_| {}).unwrap();
        assert_eq!(node.op_type.as_deref(), Some("MultiHeadAttention"));
        assert_eq!(node.input, ["q", "k", "v", "", "", "mask"]);
        assert_eq!(node.output, ["result"]);
        assert_eq!(node.attribute("num_heads").unwrap().i, Some(4));
        assert_eq!(node.attribute("scale").unwrap().f, Some(0.25));
    }

    #[test]
    fn an_inexact_attention_is_left_alone() {
        let is_left = |change: fn(&mut Graph)| fused(attention(), change).is_none();
        assert!(is_left(|graph| graph.value_info[0] = shaped("mask", "n 1 1 t")), "a mask to stretch");
        assert!(is_left(|graph| graph.value_info.clear()), "shapes that nobody knows");
        assert!(is_left(|graph| graph.value_info[1] = shaped("result", "n t 64")), "another result");
        assert!(is_left(|graph| graph.value_info[5] = shaped("k-heads", "n 2 t 8")), "heads that are shared");
        assert!(is_left(|graph| made(graph, "softmax").attribute.clear()), "shares by another dimension");
        assert!(is_left(|graph| graph.initializer[1] = stored("zero", 1.0)), "not zero");
        assert!(is_left(|graph| made(graph, "sees nothing").input[0] = "scores".to_owned()), "of others");
        assert!(is_left(|graph| made(graph, "swapped").attribute.clear()), "not swapped");
        assert!(is_left(|graph| made(graph, "k-scaled").input[1] = "x".to_owned()), "no stored scale");
    }
}
