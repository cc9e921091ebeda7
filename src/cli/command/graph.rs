//! `cerebro graph`: draws the relations of a memory.

use std::collections::BTreeSet;

use super::prelude::*;
use crate::answer::graph::{self, Graph, Node, Relation};
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

async fn entity(context: &CommandContext, args: EntityArgs) -> Result<()> {
    let request = Request::new(of::Entity).given(json!({
        "name": args.name, "project": args.project, "limit": args.limit,
    }));
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
    Ok(())
}

pub async fn run(context: &CommandContext, args: GraphArgs) -> Result<()> {
    if let Some(About::Entity(args)) = args.about {
        return entity(context, args).await;
    }
    let daemon = Daemon::reach(&context.home()?).await?;
    let id = daemon.memory_id(&args.id.unwrap_or_default()).await?;
    let request = Request::new(of::Graph).with("id", id).with("depth", args.depth).with("limit", args.limit);
    let answer = daemon.read(request).await?;
    context.output.json(answer.raw())?;
    context.output.text(&match args.format {
        Drawing::Tree => tree(&answer),
        Drawing::Dot => dot(&answer),
        Drawing::Mermaid => mermaid(&answer),
    })?;
    if answer.relations.is_empty() {
        context.output.note(
            "it has no relations; the worker finds them with an embedding model (`cerebro model list`)",
        );
    }
    if answer.truncated {
        context.output.note("there is more around it; see `--limit`");
    }
    Ok(())
}

/// The title of a memory in a drawing.
fn title(node: &Node) -> String {
    text::cut_chars(&text::one_line(node.title.raw()), TITLE_CHARS).into_owned()
}

/// Each memory once, below the nearest one that it is related to.
fn tree(graph: &Graph) -> String {
    // The first is the middle.
    let Some(middle) = graph.nodes.first() else { return String::new() };
    let mut out = format!("{}  {} ({})\n", middle.id.raw(), title(middle), middle.kind.raw());
    let mut drawn = BTreeSet::from([middle.id.raw()]);
    // A breadth-first walk decides the parent of each node; a depth-first walk draws the tree.
    let mut below: Vec<(&str, &Relation, &Node)> = Vec::new();
    let mut border = vec![middle.id.raw()];
    while !border.is_empty() {
        let mut next = Vec::new();
        for parent in border {
            for relation in &graph.relations {
                let Some(other) = other_end(relation, parent) else { continue };
                let Some(node) = graph.nodes.iter().find(|node| node.id == other) else { continue };
                if drawn.insert(node.id.raw()) {
                    below.push((parent, relation, node));
                    next.push(node.id.raw());
                }
            }
        }
        border = next;
    }
    branches(middle.id.raw(), "", &below, &mut out);
    out
}

fn dot(graph: &Graph) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut out = "digraph cerebro {\n  node [shape=box];\n".to_owned();
    out.extend(
        graph
            .nodes
            .iter()
            .map(|node| format!("  {} [label={}];\n", quoted(node.id.raw()), quoted(&title(node)))),
    );
    out.extend(graph.relations.iter().map(|one| {
        let label = quoted(&format!("{} {:.2}", one.kind.raw(), one.weight));
        format!("  {} -> {} [label={label}];\n", quoted(one.from.raw()), quoted(one.to.raw()))
    }));
    out + "}\n"
}

fn mermaid(graph: &Graph) -> String {
    let plain = |text: &str| text.replace('"', "#quot;").replace(['[', ']', '|'], " ");
    let mut out = "graph TD\n".to_owned();
    out.extend(graph.nodes.iter().map(|node| format!("  {}[\"{}\"]\n", node.id.raw(), plain(&title(node)))));
    out.extend(
        graph
            .relations
            .iter()
            .map(|one| format!("  {} -->|{}| {}\n", one.from.raw(), plain(one.kind.raw()), one.to.raw())),
    );
    out
}

/// The end of a relation that is not `id`; `None` when that is no end.
fn other_end<'a>(relation: &'a Relation, id: &str) -> Option<&'a str> {
    match (relation.from == id, relation.to == id) {
        (true, _) => Some(relation.to.raw()),
        (_, true) => Some(relation.from.raw()),
        _ => None,
    }
}

fn branches(parent: &str, indent: &str, below: &[(&str, &Relation, &Node)], out: &mut String) {
    let children: Vec<_> = below.iter().filter(|(above, ..)| *above == parent).collect();
    for (at, (_, relation, node)) in children.iter().enumerate() {
        let last = at + 1 == children.len();
        let (branch, deeper) = if last { ("└─", "  ") } else { ("├─", "│ ") };
        let arrow = if relation.from == parent { "→" } else { "←" };
        let evidence = text::one_line(&shown(&relation.evidence));
        let evidence = if evidence.is_empty() { evidence } else { format!(" [{evidence}]") };
        let (kind, id, title) = (relation.kind.raw(), node.id.raw(), title(node));
        let weight = relation.weight;
        out.extend([format!("{indent}{branch} {kind} {weight:.2} {arrow} {id}  {title}{evidence}\n")]);
        branches(id, &format!("{indent}{deeper} "), below, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Graph {
        let node = |id: &str, title: &str| Node {
            id: id.into(),
            title: title.into(),
            kind: "manual".into(),
            ..Node::default()
        };
        let edge = |from: &str, to: &str, kind: &str| Relation {
            from: from.into(),
            to: to.into(),
            kind: kind.into(),
            weight: 0.5,
            evidence: Some("a.rs".into()),
            ..Relation::default()
        };
        Graph {
            nodes: vec![node("m1", "Middle"), node("m2", "Say \"hi\" [x]"), node("m3", "Far\nline")],
            relations: vec![
                edge("m1", "m2", "similar"),
                edge("m3", "m2", "fixes"),
                edge("m2", "m1", "fixes"),
            ],
            truncated: false,
        }
    }

    #[test]
    fn the_tree_has_every_memory_once_and_shows_directions() {
        let want = "m1  Middle (manual)\n\
            └─ similar 0.50 → m2  Say \"hi\" [x] [a.rs]\n   └─ fixes 0.50 ← m3  Far line [a.rs]\n";
        assert_eq!(tree(&graph()), want);
    }

    #[test]
    fn titles_cannot_break_out_of_the_languages() {
        let dot = dot(&graph());
        assert!(dot.contains(r#""m2" [label="Say \"hi\" [x]"];"#), "{dot}");
        assert!(dot.contains(r#""m3" -> "m2" [label="fixes 0.50"];"#), "{dot}");
        let mermaid = mermaid(&graph());
        assert!(mermaid.contains("m2[\"Say #quot;hi#quot;  x \"]"), "{mermaid}");
        assert!(mermaid.contains("m3 -->|fixes| m2"), "{mermaid}");
    }
}
