//! `cerebro graph`: draws the relations of a memory.

use std::collections::BTreeSet;

use clap::{Args, Subcommand, ValueEnum};

use super::{CommandContext, Outcome, within};
use crate::answer::{graph, of};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::{Column, Layout, Table, shown};
use cerebro_core::text;
use cerebro_service::{GRAPH_DEPTH_MAX, GRAPH_NODES_MAX};

/// Longest title in a drawing, in characters.
const TITLE_CHARS: usize = 60;

/// How the neighbourhood is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Drawing {
    /// Lines and branches for the terminal
    Tree,
    /// Graphviz
    Dot,
    /// Mermaid, as Markdown viewers draw it
    Mermaid,
}

/// Draw a memory's relations, or show what is known about a name
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct GraphArgs {
    #[command(subcommand)]
    about: Option<About>,
    /// The memory's id, or its first characters
    #[arg(required = true)]
    id: Option<String>,
    /// Show memories up to N relations away, 1 to 4
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = within(1..=GRAPH_DEPTH_MAX))]
    depth: usize,
    /// Show at most N memories, 1 to 200
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = within(1..=GRAPH_NODES_MAX))]
    limit: usize,
    /// Draw in this form
    #[arg(long, value_enum, default_value_t = Drawing::Tree)]
    format: Drawing,
}

#[derive(Debug, Subcommand)]
enum About {
    Entity(EntityArgs),
}

/// Show the memories about a name, and what else they name
///
/// A name is a file, a symbol, an error, a package or a word.
#[derive(Debug, Args)]
struct EntityArgs {
    /// The name, as the memories write it
    name: String,
    /// Only this project [default: that of the working folder]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Show at most N memories, 1 to 200
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = within(1..=GRAPH_NODES_MAX))]
    limit: usize,
}

/// The columns of the memories about a name.
const MEMORIES: &[Column<graph::About>] = &[
    ("id", Layout::Id, |about| shown(&about.row.id)),
    ("updated_at", Layout::Moment, |about| shown(&about.row.updated_at)),
    ("type", Layout::Fixed, |about| shown(&about.row.kind)),
    ("by", Layout::Fixed, |about| shown(&about.by)),
    ("title", Layout::Flexible, |about| shown(&about.row.title)),
];

async fn entity(context: &CommandContext, args: EntityArgs) -> Result<Outcome> {
    let request = Request::new(of::Entity)
        .with("name", args.name.as_str())
        .with("project", args.project)
        .with("limit", args.limit);
    let answer = context.answer(request).await?;
    let table = Table::of(MEMORIES, &answer.memories);
    let nothing = format!("nothing is known about `{}` in project {}", args.name, answer.project.raw());
    context.output.table(&table, &nothing)?;
    let beside: Vec<String> =
        answer.beside.iter().map(|one| format!("{} ({})", one.name.raw(), one.memories)).collect();
    if !beside.is_empty() {
        context.output.note(&format!("named beside it: {}", beside.join(", ")));
    }
    for one in &answer.relations {
        context.output.note(&format!("{} {} {}", one.from.raw(), one.kind.raw(), one.to.raw()));
    }
    if answer.truncated {
        context.output.note("there are more; see `--limit`");
    }
    Ok(Outcome::Done)
}

pub async fn run(context: &CommandContext, args: GraphArgs) -> Result<Outcome> {
    if let Some(About::Entity(args)) = args.about {
        return entity(context, args).await;
    }
    let daemon = Daemon::reach(&context.home()?).await?;
    let id = daemon.memory_id(&args.id.unwrap_or_default()).await?;
    let request = Request::new(of::Graph).with("id", id).with("depth", args.depth).with("limit", args.limit);
    let answer = daemon.read(request).await?;
    context.output.json(answer.raw())?;
    let graph = Graph::of(&answer);
    context.output.text(&match args.format {
        Drawing::Tree => graph.tree(),
        Drawing::Dot => graph.dot(),
        Drawing::Mermaid => graph.mermaid(),
    })?;
    if graph.relations.is_empty() {
        context.output.note(
            "it has no relations; the worker finds them with an embedding model (`cerebro model list`)",
        );
    }
    if answer.truncated {
        context.output.note("there is more around it; see `--limit`");
    }
    Ok(Outcome::Done)
}

struct Node {
    id: String,
    title: String,
    kind: String,
}

struct Relation {
    from: String,
    to: String,
    kind: String,
    weight: f64,
    evidence: String,
}

struct Graph {
    /// The first is the middle.
    nodes: Vec<Node>,
    relations: Vec<Relation>,
}

impl Graph {
    fn of(answer: &graph::Graph) -> Self {
        let node = |node: &graph::Node| Node {
            id: shown(&node.id),
            title: text::cut_chars(&text::one_line(node.title.raw()), TITLE_CHARS).into_owned(),
            kind: shown(&node.kind),
        };
        let relation = |one: &graph::Relation| Relation {
            from: shown(&one.from),
            to: shown(&one.to),
            kind: shown(&one.kind),
            weight: one.weight,
            evidence: text::one_line(&shown(&one.evidence)),
        };
        Self {
            nodes: answer.nodes.iter().map(node).collect(),
            relations: answer.relations.iter().map(relation).collect(),
        }
    }

    /// Each memory once, below the nearest one that it is related to.
    fn tree(&self) -> String {
        let Some(middle) = self.nodes.first() else { return String::new() };
        let mut out = format!("{}  {} ({})\n", middle.id, middle.title, middle.kind);
        let mut drawn = BTreeSet::from([middle.id.as_str()]);
        // A breadth-first walk decides the parent of each node; a depth-first walk draws the tree.
        let mut below: Vec<(&str, &Relation, &Node)> = Vec::new();
        let mut border = vec![middle.id.as_str()];
        while !border.is_empty() {
            let mut next = Vec::new();
            for parent in border {
                for relation in &self.relations {
                    let Some(other) = relation.other_end(parent) else { continue };
                    let Some(node) = self.nodes.iter().find(|node| node.id == other) else { continue };
                    if drawn.insert(&node.id) {
                        below.push((parent, relation, node));
                        next.push(node.id.as_str());
                    }
                }
            }
            border = next;
        }
        branches(&middle.id, "", &below, &mut out);
        out
    }

    fn dot(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut out = "digraph cerebro {\n  node [shape=box];\n".to_owned();
        out.extend(
            self.nodes
                .iter()
                .map(|node| format!("  {} [label={}];\n", quoted(&node.id), quoted(&node.title))),
        );
        out.extend(self.relations.iter().map(|one| {
            let label = quoted(&format!("{} {:.2}", one.kind, one.weight));
            format!("  {} -> {} [label={label}];\n", quoted(&one.from), quoted(&one.to))
        }));
        out + "}\n"
    }

    fn mermaid(&self) -> String {
        let plain = |text: &str| text.replace('"', "#quot;").replace(['[', ']', '|'], " ");
        let mut out = "graph TD\n".to_owned();
        out.extend(self.nodes.iter().map(|node| format!("  {}[\"{}\"]\n", node.id, plain(&node.title))));
        out.extend(
            self.relations.iter().map(|one| format!("  {} -->|{}| {}\n", one.from, plain(&one.kind), one.to)),
        );
        out
    }
}

impl Relation {
    /// The end that is not `id`; `None` when it is no end.
    fn other_end(&self, id: &str) -> Option<&str> {
        match (self.from == id, self.to == id) {
            (true, _) => Some(&self.to),
            (_, true) => Some(&self.from),
            _ => None,
        }
    }
}

fn branches(parent: &str, indent: &str, below: &[(&str, &Relation, &Node)], out: &mut String) {
    let children: Vec<_> = below.iter().filter(|(above, ..)| *above == parent).collect();
    for (at, (_, relation, node)) in children.iter().enumerate() {
        let last = at + 1 == children.len();
        let (branch, deeper) = if last { ("└─", "  ") } else { ("├─", "│ ") };
        let arrow = if relation.from == parent { "→" } else { "←" };
        let evidence =
            if relation.evidence.is_empty() { String::new() } else { format!(" [{}]", relation.evidence) };
        out.extend([format!(
            "{indent}{branch} {} {:.2} {arrow} {}  {}{evidence}\n",
            relation.kind, relation.weight, node.id, node.title
        )]);
        branches(&node.id, &format!("{indent}{deeper} "), below, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Graph {
        let node = |id: &str, title: &str| graph::Node {
            id: id.into(),
            title: title.into(),
            kind: "manual".into(),
            ..graph::Node::default()
        };
        let edge = |from: &str, to: &str, kind: &str| graph::Relation {
            from: from.into(),
            to: to.into(),
            kind: kind.into(),
            weight: 0.5,
            evidence: Some("a.rs".into()),
            ..graph::Relation::default()
        };
        Graph::of(&graph::Graph {
            nodes: vec![node("m1", "Middle"), node("m2", "Say \"hi\" [x]"), node("m3", "Far\nline")],
            relations: vec![
                edge("m1", "m2", "similar"),
                edge("m3", "m2", "fixes"),
                edge("m2", "m1", "fixes"),
            ],
            truncated: false,
        })
    }

    #[test]
    fn the_tree_has_every_memory_once_and_shows_directions() {
        let want = "m1  Middle (manual)\n\
            └─ similar 0.50 → m2  Say \"hi\" [x] [a.rs]\n   └─ fixes 0.50 ← m3  Far line [a.rs]\n";
        assert_eq!(graph().tree(), want);
    }

    #[test]
    fn titles_cannot_break_out_of_the_languages() {
        let dot = graph().dot();
        assert!(dot.contains(r#""m2" [label="Say \"hi\" [x]"];"#), "{dot}");
        assert!(dot.contains(r#""m3" -> "m2" [label="fixes 0.50"];"#), "{dot}");
        let mermaid = graph().mermaid();
        assert!(mermaid.contains("m2[\"Say #quot;hi#quot;  x \"]"), "{mermaid}");
        assert!(mermaid.contains("m3 -->|fixes| m2"), "{mermaid}");
    }
}
