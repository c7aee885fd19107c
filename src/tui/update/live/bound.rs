//! What the session that Info shows is bound to.

use crate::runs::Binding;
use crate::tui::message::{Effect, Request};
use crate::tui::state::{Failure, State, shown_session};
use crate::tui::update::request;

/// Takes in what the session of Info is bound to.
pub(in crate::tui::update) fn bound(state: &mut State, binding: Result<Option<Binding>, Failure>) {
    if let Ok(binding) = binding
        && state.live.bound.binding != binding
    {
        state.live.bound.binding = binding;
        state.content.loaded += 1;
    }
}

/// Asks what the session that Info shows is bound to.
pub(in crate::tui::update) fn follow_binding(state: &mut State, out: &mut Vec<Effect>) {
    let session = shown_session(state).map(str::to_owned);
    let Some(session) = session else { return };
    let bound = &mut state.live.bound;
    if bound.session.as_ref() != Some(&session) {
        bound.session = Some(session.clone());
        bound.binding = None;
        bound.stale = true;
    }
    if std::mem::take(&mut bound.stale) {
        request(state, out, Request::Binding { session });
    }
}
