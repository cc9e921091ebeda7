//! Rewrites a model's graph so that ONNX Runtime computes the same in less time and less memory.
//!
//! Nothing here knows a model by its name: parts of a graph that are recognized are replaced, everything else
//! stays. [`integer`] rounds; [`fused`] computes the same in another order.

mod fused;
mod integer;
mod onnx;

use std::collections::{HashMap, HashSet};

use prost::bytes::Bytes;
use prost::{DecodeError, Message};

use onnx::{ATTRIBUTE_GRAPHS, Graph, Model, Node, OperatorSet, Value};

/// The first version of ONNX's operator set with the operators that are written here.
const OPERATORS_MIN: i64 = 11;

/// The model with its graph rewritten; unchanged if there is nothing to gain, or if it cannot be read, in which
/// case ONNX Runtime reports why.
pub fn rewritten(model: Vec<u8>) -> Vec<u8> {
    let bytes = Bytes::from(model);
    match rewrite(bytes.clone()) {
        Ok(Some(rewritten)) => rewritten,
        Ok(None) => bytes.into(),
        Err(error) => {
            tracing::debug!(%error, "the model's graph cannot be read; it is run as it is");
            bytes.into()
        }
    }
}

fn rewrite(bytes: Bytes) -> Result<Option<Vec<u8>>, DecodeError> {
    let mut model = Model::decode(bytes)?;
    let version = operators(&model, "").and_then(|set| set.version);
    let Some(graph) = model.graph.as_mut().filter(|_| version >= Some(OPERATORS_MIN)) else {
        return Ok(None);
    };
    if graph.node.iter().any(has_graph) {
        return Ok(None);
    }
    let integer = integer::keep_integers(graph)?;
    let fused = fused::fuse(graph)?;
    if integer + fused == 0 {
        return Ok(None);
    }
    tracing::debug!(integer, fused, "the model's graph is written anew");
    drop_unused(graph)?;
    if fused > 0 && operators(&model, fused::DOMAIN).is_none() {
        let domain = Some(fused::DOMAIN.to_owned());
        model.opset_import.push(OperatorSet { domain, version: Some(1) });
    }
    Ok(Some(model.encode_to_vec()))
}

/// The operator set of this domain that a model uses; the empty domain is ONNX itself.
fn operators<'a>(model: &'a Model, domain: &str) -> Option<&'a OperatorSet> {
    model.opset_import.iter().find(|set| set.domain.as_deref().unwrap_or_default() == domain)
}

fn has_graph(node: &Node) -> bool {
    node.attributes().any(|it| it.kind.is_some_and(|kind| ATTRIBUTE_GRAPHS.contains(&kind)))
}

/// Removes unused nodes, which ONNX Runtime would still compute.
fn drop_unused(graph: &mut Graph) -> Result<(), DecodeError> {
    let mut makers = HashMap::new();
    for (at, node) in graph.node.iter().enumerate() {
        makers.extend(node.output.iter().map(|name| (name.clone(), at)));
    }
    let mut wanted = Vec::new();
    for bytes in &graph.output {
        wanted.extend(Value::decode(bytes.clone())?.name);
    }
    let mut used = HashSet::new();
    while let Some(name) = wanted.pop() {
        if let Some(at) = makers.get(&name)
            && used.insert(*at)
        {
            wanted.extend(graph.node[*at].input.iter().cloned());
        }
    }
    let mut at = 0..;
    graph.node.retain(|_| at.next().is_some_and(|at| used.contains(&at)));
    Ok(())
}
