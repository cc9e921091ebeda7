//! The answers about the relations between memories.

use serde::{Deserialize, Serialize};

use super::{Text, memories::Row};

/// A relation between two memories.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Relation {
    pub from: Text,
    pub to: Text,
    pub kind: Text,
    /// How strong it is: above 0, at most 1.
    pub weight: f64,
    pub evidence: Option<Text>,
    /// The method that found it.
    pub method: Text,
    /// The model that was asked, if any.
    pub model: Option<Text>,
    pub at: Text,
}

/// `op_graph`: what is around a memory, or the latest memories of a project.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Graph {
    /// The middle first, then by distance and strength; of a project, newest first.
    pub nodes: Vec<Node>,
    /// Those between the nodes, the strongest first.
    pub relations: Vec<Relation>,
    /// Whether there is more around it.
    pub truncated: bool,
}

/// A memory in a graph.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Node {
    pub id: Text,
    pub title: Text,
    #[serde(rename = "type")]
    pub kind: Text,
    /// Empty for what is personal.
    pub project: Text,
    pub updated_at: Text,
    /// How many relations it is away from the middle.
    pub distance: u64,
}

/// `op_entity`: what is known about a name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entity {
    /// The project that was searched, with the personal memories.
    pub project: Text,
    /// Newest first.
    pub memories: Vec<About>,
    /// The other names in them, the most frequent first.
    pub beside: Vec<Beside>,
    /// Those between the memories, the strongest first.
    pub relations: Vec<Relation>,
    /// Whether there are more memories about it.
    pub truncated: bool,
}

/// A memory about a name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    #[serde(flatten)]
    pub row: Row,
    /// What found the name in it: a `mention` of it, or a `model`.
    pub by: Text,
}

/// Another name in the memories about one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Beside {
    pub name: Text,
    /// What it names, such as `file`.
    pub kind: Text,
    /// How many of the memories have it.
    pub memories: u64,
}

/// `op_relations`: a page of all relations.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Page {
    pub relations: Vec<Edge>,
    /// Where the next page begins; none after an empty page.
    pub next: Option<Text>,
}

/// A relation by its ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Edge {
    pub from: Text,
    pub to: Text,
    pub kind: Text,
}
