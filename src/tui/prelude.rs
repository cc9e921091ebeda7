//! What nearly every screen uses: keys, the cells of a frame, its lines, and the state.

pub(super) use crossterm::event::{KeyCode, KeyEvent};
pub(super) use ratatui::buffer::Buffer;
pub(super) use ratatui::layout::Rect;
pub(super) use ratatui::text::{Line, Span};
pub(super) use serde_json::json;

pub(super) use super::asks::Slot;
pub(super) use super::scrolled::{Cursor, ScrolledText};
pub(super) use super::state::State;
pub(super) use super::{fit, paint};
pub(super) use cerebro_core::operation::Operation;
