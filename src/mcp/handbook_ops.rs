//! A person's operations on handbooks: planning an arrangement, showing one, deciding about an arrangement, and
//! drafts of skills.

use serde_json::{Value, json};

use super::{
    arguments::ArgumentError,
    call::{Answer, Call},
    reply::{Reply, moment},
};
use cerebro_core::distil::handbook::owner;
use cerebro_core::distil::operations::{Handbook, Position};
use cerebro_core::domain::{Arrangement, ArrangementId, ItemOperation, Memory, MemoryId, Project};
use cerebro_core::text;
use cerebro_service::ServiceError;

/// The owner of the handbook: a project, or all.
fn whose(call: &mut Call) -> Result<Option<Project>, ArgumentError> {
    let project = call.arguments.project()?;
    if project.is_none() && !call.arguments.flag(&["all_projects"])? {
        return Err(ArgumentError::new("project", None, "name a project, or say `all_projects`"));
    }
    Ok(project)
}

/// What would be asked about a handbook, with an estimate of the cost; nothing is sent.
pub(super) async fn plan(call: &mut Call) -> Answer {
    let project = whose(call)?;
    let plan = call.service.distilling.arrange_plan(project.as_ref()).await?;
    let items = text::counted(plan.items, "item");
    Ok(Reply::saying(format!("{items}, {} new, about {} tokens", plan.new, plan.tokens))
        .fact("handbook", owner(project.as_ref()))
        .fact("items", plan.items)
        .fact("new", plan.new)
        .fact("shown", plan.shown)
        .fact("tokens", plan.tokens))
}

/// Queues the arranging; returns at once.
pub(super) async fn arrange(call: &mut Call) -> Answer {
    let project = whose(call)?;
    call.service.distilling.arrange_now(project.as_ref()).await?;
    let of = owner(project.as_ref());
    Ok(Reply::saying(format!("the handbook of {of} is queued")).fact("handbook", of))
}

/// What a handbook says now, as it would be rendered.
pub(super) async fn show(call: &mut Call) -> Answer {
    let project = whose(call)?;
    let (handbook, rendered) = call.service.memories.handbook(project.as_ref()).await?;
    let texts: Vec<Value> = rendered
        .iter()
        .map(|text| json!({ "topic_key": text.topic_key, "title": text.title, "content": text.content }))
        .collect();
    let first = rendered.first().map_or("no claim was accepted yet", |text| text.content.as_str());
    Ok(Reply::saying(first)
        .fact("handbook", owner(project.as_ref()))
        .fact("items", handbook.shown().count())
        .list("rendered", texts))
}

/// Updates the memories of a handbook to its present state.
pub(super) async fn render(call: &mut Call) -> Answer {
    let project = whose(call)?;
    let memories = call.service.memories.render_handbook(project.as_ref()).await?;
    let row = |memory: &Memory| {
        json!({
            "id": memory.id.as_str(), "topic_key": memory.topic_key, "revision": memory.revision,
        })
    };
    Ok(Reply::saying(text::counted(memories.len(), "memory"))
        .list("memories", memories.iter().map(row).collect()))
}

/// The drafts of skills, with their texts.
pub(super) async fn skills(call: &mut Call) -> Answer {
    let project = call.arguments.project()?;
    let skills = call.service.memories.skills(project.as_ref()).await?;
    let rows: Vec<Value> = skills
        .iter()
        .map(|(project, skill)| {
            json!({
                "name": skill.name, "project": project.as_str(), "title": skill.title,
                "sessions": skill.sessions, "memory": skill.memory.as_str(), "text": skill.text,
            })
        })
        .collect();
    // The texts become files.
    Ok(Reply::saying(text::counted(rows.len(), "draft")).list("skills", rows).exact())
}

/// Undoes an accepted arrangement.
pub(super) async fn undo(call: &mut Call) -> Answer {
    let given = call.arguments.needed("id")?;
    let id = ArrangementId::parse(&given)
        .map_err(|error| ArgumentError::new("id", Some(&given), error.to_string()))?;
    let (arrangement, changed) = call.service.distilling.undo_arrangement(&id).await?;
    Ok(decided(&arrangement, if changed { "undone" } else { "unchanged" }))
}

pub(super) async fn accept(call: &mut Call, id: &ArrangementId) -> Answer {
    let (arrangement, changed) = call.service.distilling.accept_arrangement(id).await?;
    Ok(decided(&arrangement, if changed { "accepted" } else { "unchanged" }))
}

pub(super) async fn reject(call: &mut Call, id: &ArrangementId) -> Answer {
    let (arrangement, changed) = call.service.distilling.reject_arrangement(id).await?;
    Ok(decided(&arrangement, if changed { "rejected" } else { "unchanged" }))
}

fn decided(arrangement: &Arrangement, outcome: &str) -> Reply {
    let title = title(arrangement);
    Reply::saying(format!("{outcome} `{}` {title}", arrangement.id))
        .fact("id", arrangement.id.to_string())
        .fact("outcome", outcome)
        .fact("title", title)
}

fn title(arrangement: &Arrangement) -> String {
    let changes = text::counted(arrangement.operations.len(), "change");
    format!("{changes} of the handbook of {}", owner(arrangement.project.as_ref()))
}

/// An arrangement in a list.
pub(super) fn row(arrangement: &Arrangement) -> Value {
    json!({
        "id": arrangement.id.to_string(), "state": arrangement.state.as_str(), "title": title(arrangement),
        "handbook": owner(arrangement.project.as_ref()), "changes": arrangement.operations.len(),
        "dropped": arrangement.dropped.iter().map(|(reason, count)| (reason.clone(), json!(count)))
            .collect::<serde_json::Map<_, _>>(),
        "model": arrangement.model, "generation": arrangement.generation, "at": moment(arrangement.at),
        "decided_at": arrangement.decided_at.map(moment),
    })
}

/// An arrangement with what each of its operations would change.
pub(super) async fn arrangement(call: &mut Call, id: &ArrangementId) -> Result<Reply, ServiceError> {
    let (arrangement, mut handbook) = call.service.distilling.arrangement(id).await?;
    let mut operations: Vec<Value> = Vec::new();
    for operation in &arrangement.operations {
        let before = handbook.get(&operation.item).map(|(_, place)| topic(place));
        let fits = handbook.apply(operation).is_ok();
        operations.push(operation_row(&handbook, operation, before.flatten(), fits));
    }
    let mut row = row(&arrangement);
    row["operations"] = Value::Array(operations);
    Ok(Reply::saying(title(&arrangement)).fact("arrangement", row))
}

fn topic(place: &Position) -> Option<String> {
    match place {
        Position::Topic(topic) => Some(topic.to_string()),
        _ => None,
    }
}

fn operation_row(handbook: &Handbook, operation: &ItemOperation, was: Option<String>, fits: bool) -> Value {
    let title = |id: &MemoryId| handbook.get(id).map(|(item, _)| item.title.to_string());
    let change = &operation.change;
    json!({
        "action": change.name(), "memory": operation.item.as_str(), "title": title(&operation.item),
        "was": was, "topic": change.topic(), "other": change.other().map(|id| id.as_str().to_owned()),
        "other_title": change.other().as_ref().and_then(title), "fits": fits,
    })
}
